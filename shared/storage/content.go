package storage

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A measured is content on its way into an object: how much it was, and why it could not be read on.
type measured struct {
	ctx  context.Context
	from io.Reader
	size int64
	sum  uint32
	err  error
}

// Read implements io.Reader. It ends with the context.
func (m *measured) Read(p []byte) (int, error) {
	if m.err == nil {
		m.err = m.ctx.Err()
	}
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.from.Read(p)
	m.size += int64(n)
	m.sum = crc32.Update(m.sum, castagnoli, p[:n])
	m.err = err
	return n, err
}

// failure returns why the content could not be read to its last byte.
func (m *measured) failure() error {
	if errors.Is(m.err, io.EOF) {
		return nil
	}
	return m.err
}

// A ranged is content of an object on its way out, of a length that is known.
type ranged struct {
	ctx  context.Context
	from io.ReadCloser
	left int64
	of   string // the object's URL
}

// Read implements io.Reader. Content that is shorter than its length is io.ErrUnexpectedEOF.
func (r *ranged) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, fmt.Errorf("reading %s: %w", r.of, err)
	}
	if r.left == 0 {
		return 0, io.EOF
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF) && r.left == 0:
		return n, nil
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return n, fmt.Errorf("reading %s, %d bytes before the last: %w", r.of, r.left, err)
	}
	return n, nil
}

// Close implements io.Closer.
func (r *ranged) Close() error { return r.from.Close() } //nolint:wrapcheck // as it is

// lengthOf returns how many bytes of an object of some size a range has. io.ErrUnexpectedEOF: not all of
// them are in it.
func lengthOf(size, offset, length int64) (int64, error) {
	if offset < 0 {
		return 0, fmt.Errorf("the offset %d is before the first byte", offset)
	}
	if length < 0 {
		length = max(size-offset, 0)
	}
	if offset > size || length > size-offset {
		return 0, fmt.Errorf("%d bytes from %d on are not in an object of %d: %w", length, offset, size, io.ErrUnexpectedEOF)
	}
	return length, nil
}
