package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
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
	if err := q.Publish(t.Context(), message); !errors.Is(err, ledger.ErrQueueFull) {
		t.Error(err)
	}
	n := 0
	q.Drain(t.Context(), func(context.Context, ledger.Message) (bool, time.Duration) { n++; return true, 0 })
	if n != queueLength {
		t.Errorf("drained %d", n)
	}
}

// TestQueueFullServes: effects that found the queue full are run once it is empty, long before the next sweep, and
// nothing of that is logged as a problem [R5].
func TestQueueFullServes(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}, 10), make(chan struct{})
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-answer
	}))
	defer sink.Close()
	log := &harness.Log{}
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), sink.URL, Options{
		Workers: 1, Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	s.queue.messages = make(chan ledger.Message, 2)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, listener) }()
	log.Drain(t)
	const n = 7
	for i := range n {
		endOf(t, s.Ledger, operation.Key(fmt.Sprintf("batches/%d", i)))
		if i == 0 {
			awaited(t, arrived, "no effect is run")
		}
	}
	close(answer)
	for range n - 1 {
		awaited(t, arrived, "an effect waits for the next sweep")
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	for _, line := range log.Drain(t) {
		if line["event"] == "effect" || line["event"] == "reconcile" {
			t.Errorf("logged %v", line)
		}
	}
}

// TestQueueFullPublishes: what an operator asks for is recorded where the queue is full, for the next sweep.
func TestQueueFullPublishes(t *testing.T) {
	t.Parallel()
	s, unused := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1", Options{})
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	end(t, s.Ledger)
	grant, err := s.Ledger.Effects.Claim(t.Context(), "batches/a", "publish")
	if err == nil {
		err = s.Ledger.Effects.Finish(t.Context(), grant.Lease)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.queue.messages = make(chan ledger.Message) // full
	again := ledger.Message{Operation: "batches/a", Effect: "publish", Rerun: "again", By: "ann"}
	if err := s.Publish(t.Context(), again); err != nil {
		t.Error(err)
	}
	due, err := s.Ledger.Effects.Due(t.Context(), time.Now().Add(time.Second), ledger.Cursor{}, 10)
	if err != nil || len(due.Items) != 1 || due.Items[0].Effect.Name != "publish@again" {
		t.Errorf("due: %+v, %v", due.Items, err)
	}
}
