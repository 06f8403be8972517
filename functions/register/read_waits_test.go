package register_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// TestReadWaitsAreBounded: twenty requests may wait. One more is answered at once with the record as it
// is and when to ask again, and registrations are not touched; when one has ended, another may wait.
func TestReadWaitsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	waits, over := make(chan struct{}), make(chan struct{})
	w.handler = register.New(register.Options{
		Ledger: w.ledger, Now: func() time.Time { return noon }, Log: logging.New(w.log, "p"),
		Pause: func(context.Context, time.Duration) error {
			select {
			case waits <- struct{}{}:
				<-over
				return nil
			case <-over: // nothing is to wait any more
				t.Error("it waits again")
				return context.Canceled
			}
		},
	})
	var asked sync.WaitGroup
	ask := func() (ended chan struct{}) {
		ended = make(chan struct{})
		asked.Go(func() {
			defer close(ended)
			if r := w.get(http.MethodGet, "/operations/batches/abc?wait=400ms"); r.Record.State != operation.Pending {
				t.Errorf("%+v", r)
			}
		})
		return ended
	}
	for i := range 20 {
		select {
		case <-ask():
			t.Fatalf("with %d that wait another does not", i)
		case <-waits:
		}
	}
	answered := make(chan reply)
	asked.Go(func() { answered <- w.get(http.MethodGet, "/operations/batches/abc?wait=400ms") })
	select {
	case r := <-answered:
		if r.Status != http.StatusOK || r.Record.State != operation.Pending || r.Header.Get("Retry-After") != "2" {
			t.Errorf("one more: %+v", r)
		}
	case <-waits:
		t.Error("one more waits")
		over <- struct{}{}
		go func() { <-answered }()
	}
	if r := w.get(http.MethodGet, "/operations/batches/none?wait=400ms"); r.Status != http.StatusNotFound {
		t.Errorf("what is not there: %+v", r)
	}
	if r := w.post(`{"name":"batches/def"}`); r.Status != http.StatusCreated {
		t.Errorf("a registration: %+v", r)
	}
	over <- struct{}{} // one of them ends
	for waiting := false; !waiting; {
		select {
		case <-waits:
			waiting = true
		case <-ask(): // the one that ends has not given its place yet
		}
	}
	close(over)
	asked.Wait()
}

// A stopping is a store whose process is told to stop when it has read.
type stopping struct {
	ledger.Store
	stop func()
}

func (s stopping) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	defer s.stop()
	return s.Store.Get(ctx, paths...)
}

// TestReadLast: a request that waits is answered with what was read last, also if the process was told
// to stop meanwhile. It reads nothing after its sender has gone, and does not wait on after an error.
func TestReadLast(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	const target = "/operations/batches/abc?wait=5s"
	ctx, cancel := context.WithCancelCause(t.Context())
	w.between = func(int) { cancel(nil) }
	w.counting.Reset()
	if r := w.getIn(ctx, http.MethodGet, target); r.Status != http.StatusServiceUnavailable {
		t.Fatalf("its sender has gone: %+v", r)
	}
	if n := w.counting.Counts().Gets; n != 1 {
		t.Errorf("%d reads", n)
	}

	w.pauses = nil
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	store := w.counting.Store
	w.between = func(int) {
		if _, err := w.ledger.Operations.Ingest(w.Context(), operation.Event{
			Name: operation.Name{Key: "batches/abc", Resource: "batches/abc"}, DeliveryID: "m1", Source: operation.Webhook,
			State: operation.Succeeded, UpdateTime: noon,
		}); err != nil {
			t.Error(err)
		}
		w.counting.Store = stopping{store, func() { cancel(effect.ErrStopped) }}
	}
	if r := w.getIn(ctx, http.MethodGet, target); r.Record.State != operation.Succeeded || len(w.pauses) != 1 {
		t.Errorf("%+v after %d pauses", r, len(w.pauses))
	}

	w.post(`{"name":"batches/def"}`)
	w.counting.Store, w.pauses = store, nil
	w.between = func(int) {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
		w.between = func(int) {}
	}
	if r := w.get(http.MethodGet, "/operations/batches/def?wait=5s"); r.Status != http.StatusServiceUnavailable ||
		len(w.pauses) != 1 {
		t.Errorf("the store cannot be read: %+v after %d pauses", r, len(w.pauses))
	}
}
