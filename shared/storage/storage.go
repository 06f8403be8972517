// Package storage keeps objects that are created once and never change: in a Cloud Storage bucket, or in
// a folder.
//
// An object is visible only whole. Create and Compose replace nothing: in a bucket by the generation
// precondition 0, in a folder by a link, which fails where the name exists. Until then its bytes are in
// .unfinished/, where no name leads: a temporary file, which a Draft is, too, or an intermediate object of
// Compose. A crash leaves them there, and Check deletes them a day later.
//
// Create and Compose that fail leave the whole object or none. Where the answer of Cloud Storage was lost,
// they query the object, which carries a nonce of its call. A process that died, or whose query failed as
// well, cannot know: its successor takes another name.
package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// An Object is an object as it was created.
type Object struct {
	Name   string // below the storage's own prefix or folder
	Size   int64  // bytes
	CRC32C uint32
}

// What is wrong with a name.
var (
	// ErrExists: an object has the name. It is whole, durable and unchanged.
	ErrExists = errors.New("an object of this name exists")
	// ErrNotExist: no object has the name.
	ErrNotExist = errors.New("there is no object of this name")
)

// A Storage keeps objects. It is safe for concurrent use, by several processes too. A name is segments of
// letters, digits and . _ -, none of which begins with a dot, joined by slashes; every method refuses any
// other. Errors of Cloud Storage's answers are an [AnswerError]. Each error says which object it is about.
type Storage interface {
	// String names the storage, alike in every process: gs://BUCKET/PREFIX or file:///FOLDER. Open takes
	// it. It is stored in records.
	String() string
	// Create makes an object of all of content. ErrExists: an object has the name. An error of content is
	// returned as it is, and then there is no object of this call. After any other error there may be one.
	Create(ctx context.Context, name string, content io.Reader) (Object, error)
	// Compose makes an object of any number of others, one behind the other, as Create does. ErrNotExist: a
	// source is gone. The sources' sizes are compared on the way, and in a folder their checksums.
	Compose(ctx context.Context, name string, sources []Object) (Object, error)
	// Read returns length bytes from offset as a stream; length < 0: all that follow. The caller closes it.
	// ErrNotExist. io.ErrUnexpectedEOF, here or of the stream: the object or the answer ends before that.
	Read(ctx context.Context, name string, offset, length int64) (io.ReadCloser, error)
	// Stat returns an object. In a folder it reads all of it, for the checksum. ErrNotExist.
	Stat(ctx context.Context, name string) (Object, error)
	// Delete removes an object. One that is not there is no error.
	Delete(ctx context.Context, name string) error
	// Names returns the names that begin with a prefix, in the order of their bytes. An error is the last.
	Names(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Check returns why nothing can be stored now: no bucket, no credentials, a folder that cannot be made
	// or written. It returns nil where that cannot be known. It deletes what crashes left a day ago.
	Check(ctx context.Context) error
}

const (
	// unfinished is where bytes are that no name has.
	unfinished = ".unfinished/"
	// keepUnfinished is how long they may be part of a call that is under way.
	keepUnfinished = 24 * time.Hour
)

// Open returns the storage at a location: gs://BUCKET, gs://BUCKET/PREFIX, or a folder's path, also as
// a file URL. The folder is made at the first use, for its owner alone. Symbolic links on the way to it are
// followed, so that all paths of one folder are one storage. Open makes no connection.
// emulator is as for NewBuckets. The error says what is wrong with the location.
func Open(location, emulator string) (Storage, error) {
	scheme, rest, isURL := strings.Cut(location, "://")
	switch {
	case location == "":
		return nil, errors.New("the location is empty; name gs://BUCKET/PREFIX, or a folder")
	case isURL && scheme == "gs":
		at, err := ParseLocation(location)
		if err != nil {
			return nil, err
		}
		return &bucket{buckets: NewBuckets(emulator), at: at, now: time.Now}, nil
	case isURL && scheme == "file":
		parsed, err := url.Parse(location)
		if err != nil || parsed.Host != "" || !strings.HasPrefix(rest, "/") {
			return nil, fmt.Errorf("location %q is no file:///FOLDER; name the folder's whole path", location)
		}
		return newFolder(resolved(fromSlash(parsed.Path))), nil
	case isURL:
		return nil, fmt.Errorf("location %q is neither gs://BUCKET/PREFIX nor a folder", location)
	}
	path, err := filepath.Abs(location)
	if err != nil {
		return nil, fmt.Errorf("finding the folder %q: %w", location, err)
	}
	return newFolder(resolved(path)), nil
}

// resolved returns the path of a folder without symbolic links, as far as it exists.
func resolved(folder string) string {
	for parent := folder; ; parent = filepath.Dir(parent) {
		if target, err := filepath.EvalSymlinks(parent); err == nil {
			return filepath.Join(target, strings.TrimPrefix(folder, parent))
		}
		if parent == filepath.Dir(parent) {
			return folder
		}
	}
}
