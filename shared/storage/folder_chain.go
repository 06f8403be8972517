package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A chained is the content of objects one behind the other. An object that is not what it was when it
// was made is an error.
type chained struct {
	ctx  context.Context
	of   *folder
	rest []Object

	source  Object
	current io.ReadCloser // nil: the next is not open
	content *measured     // of current
}

// Read implements io.Reader.
func (c *chained) Read(p []byte) (int, error) {
	for {
		if c.current == nil {
			if err := c.next(); err != nil {
				return 0, err
			}
		}
		n, err := c.content.Read(p)
		if errors.Is(err, io.EOF) {
			err = c.compare()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// next opens the next source. io.EOF: there is none.
func (c *chained) next() (err error) {
	if len(c.rest) == 0 {
		return io.EOF
	}
	c.source, c.rest = c.rest[0], c.rest[1:]
	if c.current, err = c.of.Read(c.ctx, c.source.Name, 0, -1); err != nil {
		return err
	}
	c.content = &measured{ctx: c.ctx, from: c.current}
	return nil
}

// compare closes the source that was read, and returns how it differs from what it was.
func (c *chained) compare() error {
	c.close()
	if got, want := c.content, c.source; got.size != want.Size || got.sum != want.CRC32C {
		return fmt.Errorf("the object %s has %d bytes with crc32c %08x, not %d with %08x as when it was made", want.Name,
			got.size, got.sum, want.Size, want.CRC32C)
	}
	return nil
}

func (c *chained) close() {
	if c.current != nil {
		_ = c.current.Close() // it was only read
		c.current = nil
	}
}
