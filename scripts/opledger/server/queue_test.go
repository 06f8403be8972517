package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

var message = ledger.Message{Operation: "batches/a", Effect: "publish"}

// TestQueueRedelivers: a failed message is delivered again after the requested time, and never
// sooner than redelivery: at least once, as with Pub/Sub.
func TestQueueRedelivers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := NewQueue()
		waits := []time.Duration{0, time.Second, 0}
		began := time.Now()
		var at []time.Duration
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.Run(ctx, ctx, 3, func(context.Context, ledger.Message) (bool, time.Duration) {
				n := len(at)
				at = append(at, time.Since(began))
				return n < len(waits)-1, waits[n]
			})
		}()
		if err := q.Publish(ctx, message); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // of the bubble's clock: everything that may happen has happened
		cancel()
		<-ended
		if want := []time.Duration{0, redelivery, redelivery + time.Second}; len(at) != 3 || at[1] != want[1] ||
			at[2] != want[2] {
			t.Errorf("handled at %v, want %v", at, want)
		}
	})
}

// TestQueueLater: a delayed message arrives after its time, whichever goroutine asked. A queue that
// does not run keeps none, and the end of Run drops those that wait.
func TestQueueLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue()
		q.Later(message, time.Second) // dropped
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		var at []time.Duration
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.Run(ctx, ctx, 1, func(context.Context, ledger.Message) (bool, time.Duration) {
				at = append(at, time.Since(began))
				return false, 0
			})
		}()
		synctest.Wait()
		q.Later(message, 2*time.Hour)
		q.Later(message, 3*time.Second)
		q.Later(message, 24*time.Hour)
		time.Sleep(3 * time.Hour)
		cancel()
		<-ended
		q.Later(message, 0) // dropped
		if len(at) != 2 || at[0] != 3*time.Second || at[1] != 2*time.Hour {
			t.Errorf("handled at %v", at)
		}
	})
}

// TestQueueEnds: Run returns when the messages in progress are handled, whose context outlives ctx;
// waiting ones are dropped, for the sweep.
func TestQueueEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := NewQueue()
		var handled atomic.Int32
		finish := make(chan struct{})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			q.Run(ctx, context.WithoutCancel(ctx), 1, func(work context.Context, _ ledger.Message) (bool, time.Duration) {
				<-finish
				if work.Err() != nil {
					t.Error("the work's context has ended with the queue's")
				}
				handled.Add(1)
				return true, time.Hour
			})
		}()
		for range 3 {
			if err := q.Publish(ctx, message); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("it did not wait for what was in progress")
		default:
		}
		close(finish)
		<-ended
		if n := handled.Load(); n < 1 || n > 3 {
			t.Errorf("handled %d", n)
		}
	})
}

// TestQueueFull: a full queue returns an error at once; the ledger's caller must not block [W3].
func TestQueueFull(t *testing.T) {
	t.Parallel()
	q := NewQueue()
	for range queueLength {
		if err := q.Publish(t.Context(), message); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Publish(t.Context(), message); !errors.Is(err, errQueueFull) {
		t.Error(err)
	}
	n := 0
	q.Drain(t.Context(), func(context.Context, ledger.Message) (bool, time.Duration) { n++; return true, 0 })
	if n != queueLength {
		t.Errorf("drained %d", n)
	}
}
