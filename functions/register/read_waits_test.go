package register_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// TestReadWaitsAreBounded: twenty requests may wait. One more is answered at once with the record as
// it is, and registrations are not touched; when one has ended, another may wait.
func TestReadWaitsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	waits, over := make(chan struct{}), make(chan struct{})
	w.handler = register.New(register.Options{
		Ledger: w.ledger, Now: func() time.Time { return noon }, Log: logging.New(w.log, "p"),
		Pause: func(context.Context, time.Duration) error {
			waits <- struct{}{}
			<-over
			return nil
		},
	})
	var asked sync.WaitGroup
	ask := func() {
		asked.Go(func() {
			if r := w.get(http.MethodGet, "/operations/batches/abc?wait=2s"); r.Record.State != operation.Pending {
				t.Errorf("%+v", r)
			}
		})
	}
	for range 20 {
		ask()
		<-waits
	}
	answered := make(chan reply)
	asked.Go(func() { answered <- w.get(http.MethodGet, "/operations/batches/abc?wait=2s") })
	select {
	case r := <-answered:
		if r.Status != http.StatusOK || r.Record.State != operation.Pending {
			t.Errorf("one more: %+v", r)
		}
	case <-waits:
		t.Error("one more waits")
		over <- struct{}{}
		go func() { <-answered }()
	}
	if r := w.post(`{"name":"batches/def"}`); r.Status != http.StatusCreated {
		t.Errorf("a registration: %+v", r)
	}
	over <- struct{}{} // one of them ends
	for waiting := false; !waiting; {
		next := make(chan struct{})
		asked.Go(func() {
			w.get(http.MethodGet, "/operations/batches/abc?wait=2s")
			close(next)
		})
		select {
		case <-waits:
			waiting = true
		case <-next: // the one that ends has not given its place yet
		}
	}
	close(over)
	asked.Wait()
}
