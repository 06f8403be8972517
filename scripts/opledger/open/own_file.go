package open

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotOwn: another user of this machine may read the file, or may have put it there.
var ErrNotOwn = errors.New("another user may have written or read it")

// ReadOwn reads a file that this user alone can have written and can read: where a folder is shared, any
// other file in it may be another user's. It follows no symbolic link at the end of the path, and what it
// checked is what it reads. Errors: ErrNotOwn, with what the file is; the caller says what to do. Else as
// those of the system, such as fs.ErrNotExist.
func ReadOwn(file string) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|asItIs, 0)
	if err != nil {
		info, lookErr := os.Lstat(file)
		switch {
		case lookErr != nil:
			return nil, err
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, fmt.Errorf("%w: it is a symbolic link", ErrNotOwn)
		}
		return nil, cmp.Or(ownersAlone(info), err) // another user's may not open at all
	}
	defer f.Close() //nolint:errcheck // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is no regular file", ErrNotOwn)
	}
	if err := ownersAlone(info); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
