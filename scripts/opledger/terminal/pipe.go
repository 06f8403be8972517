package terminal

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// A pipe is an output whose reader may end first, such as that of `opledger local | head -1`.
type pipe struct {
	io.Writer
	broken func() // called at each write that finds no reader
}

func (p pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.broken()
	}
	return n, err
}

// OrPipe returns file, or a pipe over it where it can lose its reader.
func OrPipe(file *os.File, broken func()) io.Writer {
	info, err := file.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return file
	}
	return pipe{file, broken}
}
