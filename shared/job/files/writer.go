package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/storage"
)

// A Writer writes lines to one object, which is created with the first of them. It is not safe for
// concurrent use, and must be ended by Close or Abort.
type Writer struct {
	ctx     context.Context //nolint:containedctx // of the object, which is written by many calls
	storage storage.Storage
	name    string

	Lines int64 // how many were written
	Bytes int64

	pipe    *io.PipeWriter
	content *bufio.Writer
	created chan created
	buffer  []byte
}

type created struct {
	object storage.Object
	err    error
}

// NewWriter returns a writer of the object with this name.
func NewWriter(ctx context.Context, s storage.Storage, name string) *Writer {
	return &Writer{ctx: ctx, storage: s, name: name}
}

// Line writes a line.
func (w *Writer) Line(l Line) error {
	w.buffer = l.AppendTo(w.buffer[:0])
	return w.write(w.buffer)
}

// Copy writes a line that has no newline as it is.
func (w *Writer) Copy(line []byte) error {
	w.buffer = append(append(w.buffer[:0], line...), '\n')
	return w.write(w.buffer)
}

func (w *Writer) write(line []byte) error {
	if w.pipe == nil {
		w.begin()
	}
	w.Lines, w.Bytes = w.Lines+1, w.Bytes+int64(len(line))
	if _, err := w.content.Write(line); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", w.name, err), w.Abort())
	}
	if cap(w.buffer) > keptBytes {
		w.buffer = nil
	}
	return nil
}

// keptBytes is how large a buffer may be that is kept for the next line.
const keptBytes = 1 << 20

func (w *Writer) begin() {
	content, pipe := io.Pipe()
	w.pipe, w.content, w.created = pipe, bufio.NewWriterSize(pipe, 256<<10), make(chan created, 1)
	go func() {
		object, err := w.storage.Create(w.ctx, w.name, content)
		_ = content.CloseWithError(errors.Join(err, io.ErrClosedPipe)) // for what is still being written
		w.created <- created{object, err}
	}()
}

// Close ends the object, and returns it. ok is false where no line was written: there is none then.
func (w *Writer) Close() (object job.Object, ok bool, err error) {
	if w.pipe == nil {
		return job.Object{}, false, nil
	}
	err = w.content.Flush()
	_ = w.pipe.CloseWithError(err) // nil ends the content
	made := <-w.created
	w.pipe = nil
	if err = errors.Join(made.err, err); err != nil {
		return job.Object{}, false, fmt.Errorf("storing %s: %w", w.name, err)
	}
	return job.Object(made.object), true, nil
}

// CloseTo ends the object, and adds it to a list if there is one.
func (w *Writer) CloseTo(objects *[]job.Object) error {
	object, ok, err := w.Close()
	if ok {
		*objects = append(slices.Clip(*objects), object)
	}
	return err
}

var errAborted = errors.New("the writing was given up")

// Abort gives up an object that is not closed. It returns why the storage did not take it, if it did not.
func (w *Writer) Abort() error {
	if w.pipe == nil {
		return nil
	}
	_ = w.pipe.CloseWithError(errAborted) // never fails
	made := <-w.created
	w.pipe = nil
	if errors.Is(made.err, errAborted) {
		return nil
	}
	return made.err
}
