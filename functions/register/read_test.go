package register_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// A waiting is the function over a store that counts, whose pauses end when the test says so.
type waiting struct {
	*world
	counting *ledgertest.Counting
	pauses   []time.Duration
	between  func(n int) // is called in the nth pause
	handler  http.Handler
}

func newWaiting(t *testing.T) *waiting {
	w := &waiting{world: newWorld(t), between: func(int) {}}
	w.counting = ledgertest.Count(w.store)
	l, err := ledger.New(w.counting, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = register.New(register.Options{
		Ledger: l, Now: func() time.Time { return noon }, Log: logging.New(w.log, "p"),
		Pause: func(ctx context.Context, d time.Duration) error {
			w.pauses = append(w.pauses, d)
			w.between(len(w.pauses))
			return ctx.Err()
		},
	})
	w.post(`{"name":"batches/abc","jobKind":"nightly"}`)
	return w
}

func (w *waiting) get(method, target string) reply {
	w.Helper()
	return w.getIn(w.Context(), method, target)
}

// A refusedRead is a request that is refused, with what its answer says.
type refusedRead struct {
	method, target string
	status         int
	says           string
}

// refuses checks that each request is answered in the form of every error.
func (w *waiting) refuses(reads []refusedRead) {
	w.Helper()
	for _, c := range reads {
		r := w.get(c.method, c.target)
		if r.Status != c.status || r.Error.Code != c.status || !strings.Contains(r.Error.Message, c.says) {
			w.Errorf("%s %s: %+v, want %d, %s", c.method, c.target, r, c.status, c.says)
		}
	}
}

func (w *waiting) getIn(ctx context.Context, method, target string) reply {
	w.Helper()
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, method, target, nil))
	r := reply{Status: recorder.Code, Header: recorder.Header()}
	into := any(&r.Record)
	switch {
	case r.Status/100 != 2:
		into = &struct{ Error any }{&r.Error}
	case strings.HasPrefix(target, "/intents/"):
		into = &r.Intent
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), into); err != nil {
		w.Fatalf("%s: %v", recorder.Body, err)
	}
	return r
}

// TestRead: a submitter reads what it registered, under any form of the name, with one read.
func TestRead(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	w.counting.Reset()
	for name, method := range map[string]string{
		"batches/abc": http.MethodGet, "BATCHES/abc/": http.MethodHead, "v1beta/batches/abc": http.MethodGet,
		"projects/p/locations/us/batches/abc": http.MethodGet,
	} {
		r := w.get(method, "/operations/"+name)
		if r.Status != http.StatusOK || r.Record.Key != "batches/abc" || r.Record.State != operation.Pending ||
			r.Record.JobKind != "nightly" {
			t.Errorf("%s: %d %+v", name, r.Status, r.Record)
		}
	}
	if got, want := w.counting.Counts(), (ledgertest.Counts{Gets: 4, Read: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestReadRefused: what is wrong is answered in the form of every error, and reads nothing.
func TestReadRefused(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	w.counting.Reset()
	w.refuses([]refusedRead{
		{http.MethodGet, "/operations/batches/none", http.StatusNotFound, "no such operation"},
		{http.MethodGet, "/operations/abc", http.StatusBadRequest, "batches/abc"},
		{http.MethodGet, "/operations/", http.StatusBadRequest, "name"},
		{http.MethodGet, "/operations/batches/abc?wait=soon", http.StatusBadRequest, "write 90s"},
		{http.MethodGet, "/operations/batches/abc?wait=31s", http.StatusBadRequest, "from 0s to 30s"},
		{http.MethodGet, "/operations/batches/abc?wait=-1s", http.StatusBadRequest, "from 0s to 30s"},
		{http.MethodGet, "/operations/batches/abc?watch=1", http.StatusBadRequest, "the only one is wait"},
		{http.MethodPost, "/operations/batches/abc", http.StatusMethodNotAllowed, "only GET"},
	})
	if got := w.counting.Counts(); got.Gets != 1 || len(w.pauses) != 0 {
		t.Errorf("%+v, %d pauses", got, len(w.pauses))
	}
}

// TestReadWaits: ?wait answers when the operation is settled, and at the end of the time in any case. It reads soon at
// first, and never twice within the time that it waited before.
func TestReadWaits(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	for _, c := range []struct {
		wait   string
		pauses []int // in milliseconds
		reads  int
	}{
		{"30s", []int{250, 1000, 2500, 2500, 2500, 2500, 2500, 2500, 2500, 2500, 2500, 2500, 3750},
			ledgertest.BillWait.Reads},
		{"5s", []int{250, 1000, 3750}, 4},
		{"1s", []int{250, 750}, 2},
		{"400ms", []int{400}, 2},
		{"200ms", []int{200}, 1},
	} {
		w.pauses = nil
		w.counting.Reset()
		if r := w.get(http.MethodGet, "/operations/batches/abc?wait="+c.wait); r.Status != http.StatusOK ||
			r.Record.State != operation.Pending {
			t.Errorf("%+v", r)
		}
		var pauses []int
		for _, d := range w.pauses {
			pauses = append(pauses, int(d.Milliseconds()))
		}
		if got := w.counting.Counts(); got.Gets != c.reads || got.Read != c.reads || !slices.Equal(pauses, c.pauses) {
			t.Errorf("%s: %+v, after pauses of %v", c.wait, got, pauses)
		}
	}
	w.pauses = nil
	w.between = func(n int) {
		if n != 2 {
			return
		}
		if _, err := w.ledger.Operations.Ingest(w.Context(), operation.Event{
			Name: operation.Name{Key: "batches/abc", Resource: "batches/abc"}, DeliveryID: "m1", Source: operation.Webhook,
			State: operation.Succeeded, UpdateTime: noon,
		}); err != nil {
			t.Error(err)
		}
	}
	if r := w.get(http.MethodGet, "/operations/batches/abc?wait=30s"); r.Record.State != operation.Succeeded ||
		len(w.pauses) != 2 {
		t.Errorf("%+v, after %d pauses", r, len(w.pauses))
	}
	if r := w.get(http.MethodGet, "/operations/batches/abc?wait=30s"); r.Status != http.StatusOK || len(w.pauses) != 2 {
		t.Errorf("settled: %+v, after %d pauses", r, len(w.pauses))
	}
}

// TestReadEnds: where the process ends, a waiting request is answered at once with what there is.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	told, stop := context.WithCancel(t.Context())
	stop()
	w.handler = register.New(register.Options{
		Ledger: w.ledger, Now: func() time.Time { return noon }, Log: logging.New(w.log, "p"),
	})
	stopping := effect.WithStop(t.Context(), told)
	if r := w.getIn(stopping, http.MethodGet, "/operations/batches/abc?wait=30s"); r.Status != http.StatusOK ||
		r.Record.State != operation.Pending {
		t.Errorf("%+v", r)
	}
}

// TestReadStops: a deployed function ends the contexts of its requests when it is told to stop. One
// that waits is answered with what there is, in a pause and in a read. Any other end is an error.
func TestReadStops(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	for _, inRead := range []bool{false, true} {
		for cause, status := range map[error]int{
			effect.ErrStopped: http.StatusOK, context.Canceled: http.StatusServiceUnavailable,
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			w.handler = register.New(register.Options{
				Ledger: w.ledger, Now: func() time.Time { return noon }, Log: logging.New(w.log, "p"),
				Pause: func(ctx context.Context, _ time.Duration) error {
					cancel(cause)
					if inRead {
						return nil
					}
					return context.Cause(ctx)
				},
			})
			if r := w.getIn(ctx, http.MethodGet, "/operations/batches/abc?wait=30s"); r.Status != status ||
				status == http.StatusOK && r.Record.State != operation.Pending {
				t.Errorf("%v, in a read %v: %+v, want %d", cause, inRead, r, status)
			}
		}
	}
}
