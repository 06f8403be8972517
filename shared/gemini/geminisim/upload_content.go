package geminisim

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// content is what was uploaded of a file, in memory, or at a path on disk. One upload at a time adds to
// it; then it never changes.
type content struct {
	path string // "": in memory
	held []byte
	size int64
}

// errTooLong is about a piece that is longer than what is left.
var errTooLong = errors.New("the file is too long")

// take adds a piece of at most room bytes. Of one that is too long, or that ends early, it keeps
// nothing but the multiples of uploadGranularity that came before its connection broke.
func (c *content) take(piece io.Reader, room int64, last bool) error {
	to, err := c.end()
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(piece, room+1))
	odd := n % uploadGranularity
	switch {
	case n > room:
		n, err = 0, errTooLong
	case err != nil:
		n -= odd
	case odd != 0 && !last:
		err = fmt.Errorf("a piece of %d bytes is no multiple of %d, and not the last", n, uploadGranularity)
		n = 0
	}
	c.size += n
	return errors.Join(err, to.close())
}

// end returns where the next piece is written, after closing which the content is as long as size.
func (c *content) end() (*contentEnd, error) {
	if c.path == "" {
		return &contentEnd{of: c}, nil
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(c.size, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &contentEnd{of: c, file: f}, nil
}

type contentEnd struct {
	of   *content
	file *os.File // nil: in memory
}

func (e *contentEnd) Write(p []byte) (int, error) {
	if e.file != nil {
		return e.file.Write(p)
	}
	e.of.held = append(e.of.held, p...)
	return len(p), nil
}

func (e *contentEnd) close() error {
	if e.file != nil {
		return errors.Join(e.file.Truncate(e.of.size), e.file.Close())
	}
	e.of.held = e.of.held[:e.of.size]
	return nil
}

// remove frees the space of the content.
func (c *content) remove() error {
	c.held = nil
	if c.path == "" {
		return nil
	}
	return os.Remove(c.path)
}

// A contentReader reads a content at any place. Where one read begins at the end of the last, it reads
// ahead.
type contentReader struct {
	of     *content
	file   *os.File // nil: in memory
	window []byte   // of the file, from at
	at     int64
	last   int64 // the end of the last read
}

// readAhead is how many bytes are read at once from a file.
const readAhead = 256 << 10

func (c *content) open() (*contentReader, error) {
	if c.path == "" {
		return &contentReader{of: c}, nil
	}
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	return &contentReader{of: c, file: f}, nil
}

// read returns the bytes from one place to another. They are valid until the next read.
func (r *contentReader) read(from, to int64) ([]byte, error) {
	if r.file == nil {
		return r.of.held[from:to], nil
	}
	if from < r.at || to > r.at+int64(len(r.window)) {
		ahead := to
		if from == r.last {
			ahead = min(max(to, from+readAhead), r.of.size)
		}
		if need := int(ahead - from); cap(r.window) < need {
			r.window = make([]byte, need)
		}
		r.window, r.at = r.window[:ahead-from], from
		if _, err := r.file.ReadAt(r.window, from); err != nil {
			r.window = r.window[:0]
			return nil, err
		}
	}
	r.last = to
	return r.window[from-r.at : to-r.at], nil
}

func (r *contentReader) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
