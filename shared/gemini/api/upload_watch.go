package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// stallTimeout bounds the time in which a request of an upload neither takes a byte nor is answered.
const stallTimeout = 2 * time.Minute

var errStalled = fmt.Errorf("no byte was taken for %v", stallTimeout)

// A watch ends a request that makes no progress. A dead connection can stay open, and a bound on the
// whole time would end a piece that comes slowly.
type watch struct {
	ctx   context.Context //nolint:containedctx // of the request that it watches
	end   context.CancelCauseFunc
	timer *time.Timer
}

func newWatch(ctx context.Context) *watch {
	ctx, end := context.WithCancelCause(ctx)
	return &watch{ctx: ctx, end: end, timer: time.AfterFunc(stallTimeout, func() { end(errStalled) })}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.end(nil)
}

// reader returns a reader of piece. The transport reads on when it has written what it read, so that a
// read is progress.
func (w *watch) reader(piece []byte) io.Reader { return watched{bytes.NewReader(piece), w} }

// A watched has no other method of the reader in it: by WriteTo the whole would be one step.
type watched struct {
	io.Reader

	watch *watch
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	if w.watch.ctx.Err() == nil {
		w.watch.timer.Reset(stallTimeout)
	}
	return w.Reader.Read(p) //nolint:wrapcheck // io.EOF must stay io.EOF
}

// cause is err, in the words of what ended the request where the watch did.
func (w *watch) cause(err error) error {
	if err != nil && errors.Is(context.Cause(w.ctx), errStalled) {
		return fmt.Errorf("fetching %s: %w", uploadResource, interrupted{errStalled})
	}
	return err
}
