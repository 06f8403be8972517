package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Open returns the bytes of sources, one behind the other. Each is opened when it is read.
func Open(ctx context.Context, s storage.Storage, sources []job.Source) io.ReadCloser {
	return &chain{ctx: ctx, storage: s, rest: sources}
}

// A chain reads one source after the other.
type chain struct {
	ctx     context.Context //nolint:containedctx // of the reader, which is open for one step
	storage storage.Storage
	rest    []job.Source
	open    io.ReadCloser
}

// Read implements io.Reader.
func (c *chain) Read(p []byte) (int, error) {
	for {
		if c.open == nil {
			if len(c.rest) == 0 {
				return 0, io.EOF
			}
			next, err := c.storage.Read(c.ctx, c.rest[0].Object, c.rest[0].Offset, c.rest[0].Length)
			if err != nil {
				return 0, fmt.Errorf("reading %s: %w", c.rest[0].Object, err)
			}
			c.open, c.rest = next, c.rest[1:]
		}
		n, err := c.open.Read(p)
		if err == io.EOF { //nolint:errorlint // the storage returns it as it is at the end of a source
			err = c.Close()
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close implements io.Closer.
func (c *chain) Close() error {
	if c.open == nil {
		return nil
	}
	open := c.open
	c.open = nil
	if err := open.Close(); err != nil {
		return fmt.Errorf("ending the reading of an object: %w", err)
	}
	return nil
}

// Lines returns the lines of sources: see Scan.
func Lines(ctx context.Context, s storage.Storage, sources []job.Source) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		content := Open(ctx, s, sources)
		defer content.Close() //nolint:errcheck // it was only read
		Scan(content)(yield)
	}
}

// A Request is a request of a part as job storage has it, valid until the next.
type Request struct {
	job.Request
	Line []byte // canonical, without its newline
}

// Requests returns the requests of sources, which are of a part or a job: of is for errors. An error is the last.
func Requests(
	ctx context.Context, s storage.Storage, of operation.Key, sources []job.Source,
) iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		for line, err := range Lines(ctx, s, sources) {
			request := Request{Line: line}
			if err == nil {
				request.Request, err = job.SplitLine(line)
			}
			if err != nil {
				err = fmt.Errorf("reading the requests of %s: %w", of, err)
			}
			if !yield(request, err) || err != nil {
				return
			}
		}
	}
}

// Scan returns the lines of content, without their newlines. A line is valid until the next. An error is
// the last.
func Scan(content io.Reader) iter.Seq2[[]byte, error] { return scan(content, job.MaxLineBytes) }

// scan is Scan with a bound of a line, in bytes.
func scan(content io.Reader, most int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(content)
		lines.Buffer(make([]byte, 0, 64<<10), most+1)
		lines.Split(split)
		for lines.Scan() {
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, fmt.Errorf("reading the lines: %w", err))
		}
	}
}

// split is bufio.ScanLines, but a carriage return stays: the ranges of an input count each of its bytes.
func split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}
