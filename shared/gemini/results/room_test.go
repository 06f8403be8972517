package results

import (
	"context"
	"errors"
	"io"
	"math"
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
