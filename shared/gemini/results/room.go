package results

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"golang.org/x/sync/semaphore"
)

// LargeItemBytes is the size, in bytes of JSON, above which an item takes room.
const LargeItemBytes = 1 << 20

// A room bounds the large items that all readers of a client hold at a time. An item takes what the
// largest may need as soon as more than LargeItemBytes of it were read, gives back what it did not
// need when it was read, and the rest when its Reader goes on. Beside the item a Reader keeps less than
// LargeItemBytes of what it has read. No reader waits while it holds room, so none waits for ever.
type room struct{ free *semaphore.Weighted }

// defaultLimit is the memory of a function with 512 MiB, as it is deployed.
const defaultLimit = 358 << 20

// newRoom returns a room for a process with that memory limit, in bytes: a sixth of it, because an
// item is in memory up to five times while it is read, made a request of, and signed.
func newRoom(limit int64) *room {
	if limit == math.MaxInt64 { // there is none
		limit = defaultLimit
	}
	return &room{free: semaphore.NewWeighted(max(limit/6, MaxItemBytes))}
}

// memoryLimit returns GOMEMLIMIT, or [math.MaxInt64].
func memoryLimit() int64 { return debug.SetMemoryLimit(-1) }

// A guest is a download whose large items take room: its body, and the source that reads it.
type guest struct {
	source
	body io.ReadCloser
	ctx  context.Context //nolint:containedctx // of the download
	room *room
	read int   // bytes of the item that is being read, and a little behind it
	held int64 // bytes of room
}

// next implements source.
func (g *guest) next() ([]byte, error) {
	g.leave(0)
	g.read = 0
	text, err := g.source.next()
	g.leave(int64(len(text)))
	return text, err
}

// Read implements io.Reader. It waits for room once the item is large.
func (g *guest) Read(p []byte) (int, error) {
	if g.read > LargeItemBytes && g.held == 0 {
		if err := g.room.free.Acquire(g.ctx, MaxItemBytes); err != nil {
			return 0, fmt.Errorf("waiting until other large items are done: %w", err)
		}
		g.held = MaxItemBytes
	}
	n, err := g.body.Read(p)
	g.read += n
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}

// leave gives back all room but some bytes.
func (g *guest) leave(but int64) {
	if g.held > but {
		g.room.free.Release(g.held - but)
		g.held = but
	}
}

// Close implements io.Closer.
func (g *guest) Close() error {
	g.leave(0)
	return g.body.Close() //nolint:wrapcheck // it stands for the body
}
