package results

import (
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// TestRoom: of items that are large together as many are held as there is room for. The next is read
// when an item before it is done with, and a reader whose time is over waits no longer.
func TestRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const items = 5
		shared := &room{free: semaphore.NewWeighted(MaxItemBytes + 4*LargeItemBytes)}
		large := strings.Repeat("x", 2*LargeItemBytes) + "\n"
		open := func(ctx context.Context) *Reader {
			g := &guest{body: io.NopCloser(strings.NewReader(large + "small\n" + large)), ctx: ctx, room: shared}
			g.source = newLines(g, false)
			return newReader(g, g)
		}
		began := time.Now()
		ends := make(chan time.Duration, items)
		for range items {
			go func() {
				reader := open(t.Context())
				if _, err := reader.Next(); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Second) // for which it holds its item
				if _, err := reader.Next(); err != nil {
					t.Error(err)
				}
				ends <- time.Since(began)
				time.Sleep(time.Hour) // holds nothing of the small one
				if err := reader.Close(); err != nil {
					t.Error(err)
				}
			}()
		}
		for i := range items {
			if took, want := <-ends, time.Duration(i/3+1)*time.Second; took != want {
				t.Errorf("reader %d goes on after %v, want %v", i, took, want)
			}
		}
		time.Sleep(2 * time.Hour)
		holder := open(t.Context())
		for range 2 {
			if _, err := holder.Next(); err != nil {
				t.Error(err)
			}
		}
		if err := shared.free.Acquire(t.Context(), MaxItemBytes+4*LargeItemBytes); err != nil {
			t.Error(err)
		}
		hurried, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := open(hurried).Next(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// TestRoomOfTheLimit: there is room for a sixth of the process's memory, and always for one item.
func TestRoomOfTheLimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]int64{
		math.MaxInt64: defaultLimit / 6, 600 << 20: 100 << 20, 1: MaxItemBytes,
	} {
		if r := newRoom(limit); !r.free.TryAcquire(want) || r.free.TryAcquire(1) {
			t.Errorf("of %d bytes there is not room for %d", limit, want)
		}
	}
}

// TestRoomInline: what a large item took is given back with its room, also where it was inline: beside
// the item that is held the reader keeps little, and nothing of it when the next was read.
func TestRoomInline(t *testing.T) {
	const size, little = 30 << 20, 4 << 20
	began := live()
	large := io.LimitReader(repeat('y'), size)
	body := io.MultiReader(strings.NewReader(`{"metadata":{"x":"`), io.LimitReader(repeat('x'), size),
		strings.NewReader(`","output":{"inlinedResponses":{"inlinedResponses":[{"metadata":{"key":"a"},"response":"`), large,
		strings.NewReader(`"},{"metadata":{"key":"b"},"response":2}]}}}}`))
	g := &guest{body: io.NopCloser(body), ctx: t.Context(), room: newRoom(math.MaxInt64)}
	items := newInline(g)
	g.source = items
	if _, found, err := items.find(); !found || err != nil {
		t.Fatal(found, err)
	}
	if kept := live() - began; kept > little {
		t.Errorf("a large value before the items is kept: %d bytes", kept)
	}
	text, err := g.next()
	if kept := live() - began - int64(cap(text)); err != nil || len(text) < size || kept > little {
		t.Errorf("beside an item of %d bytes %d are kept, %v", len(text), kept, err)
	}
	text, err = g.next()
	if kept := live() - began; err != nil || !strings.Contains(string(text), `"b"`) || kept > little {
		t.Errorf("%.100q: of a large item %d bytes are kept, %v", text, kept, err)
	}
	runtime.KeepAlive(g)
}

// repeat is an endless text of one byte.
type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// live returns how many bytes of the heap are in use.
func live() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
