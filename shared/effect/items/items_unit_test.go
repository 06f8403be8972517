package items

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A blindStore finds nothing by a query.
type blindStore struct{ ledger.Store }

var errBlind = errors.New("the index is missing")

func (blindStore) Query(context.Context, ledger.Query) ([]ledger.Document, error) {
	return nil, errBlind
}

// blindRun is a run whose ledger cannot be queried, at a batch whose result cannot be fetched.
func blindRun(t *testing.T) *itemRun {
	t.Helper()
	l, err := ledger.New(blindStore{}, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client, err := results.New(results.Options{APIKey: "key", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := &itemRun{Options: Options{Ledger: l, Results: client}, failed: keySet{}}
	r.completion.Operation, r.completion.Result = "batches/a", operation.Reported{OutputFile: "files/a"}
	return r
}

// TestEndingOfItems: an attempt whose time is over hands the rest on if it finished an item, however it
// was cut off, and else counts. One that is stuck says so. An operation without a result has none for good.
func TestEndingOfItems(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		run    itemRun
		within context.Context
		err    error
		says   string // empty: errContinue
	}{
		"cut off, with progress": {itemRun{advanced: true}, over, errors.New("cut"), ""},
		"cut off, without":       {itemRun{}, over, errors.New("cut"), "no item finished within the attempt's time: cut"},
		"closing, with progress": {itemRun{advanced: true}, t.Context(), effect.ErrContinue, ""},
		"closing, without":       {itemRun{}, t.Context(), effect.ErrContinue, "no item finished within the attempt's time"},
		"stuck":                  {itemRun{stuck: true, cause: errBlind}, t.Context(), nil, "no item succeeds now"},
		"a download that fails":  {itemRun{advanced: true}, t.Context(), errBlind, errBlind.Error()},
		"a result not found":     {itemRun{advanced: true}, over, results.ErrNotFound, results.ErrNotFound.Error()},
		"no result":              {itemRun{advanced: true}, over, results.ErrNone, results.ErrNone.Error()},
		"nothing left to be done": {
			itemRun{at: ledger.ItemProgress{Next: 1, Returned: 1}}, t.Context(), nil, "tried again: 1",
		},
	} {
		c.run.Options = blindRun(t).Options
		err := c.run.ending(t.Context(), Window{Context: c.within}, c.err)
		if (c.says == "") != errors.Is(err, effect.ErrContinue) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if effect.IsPermanent(err) != errors.Is(c.err, results.ErrNone) {
			t.Errorf("%s: it is permanent that %v", name, err)
		}
	}
	r := &itemRun{}
	if err := r.unlessStuck(fmt.Errorf("a pass: %w", errStuck)); err != nil || !r.stuck {
		t.Errorf("%v, stuck %v", err, r.stuck)
	}
}

// TestDownloadFailsFirst: where the result cannot be fetched now, what a replay returned waits, too.
// What the ledger keeps of it is not taken for nothing where it cannot be read.
func TestDownloadFailsFirst(t *testing.T) {
	t.Parallel()
	r := blindRun(t)
	r.at.Returned = 1
	if err := r.passes(t.Context(), Window{Context: t.Context()}); err == nil || errors.Is(err, errBlind) {
		t.Errorf("want why the result cannot be fetched: %v", err)
	}
	if err := r.returned(t.Context(), Window{Context: t.Context()}); !errors.Is(err, errBlind) {
		t.Errorf("want why the items cannot be read: %v", err)
	}
}

// TestLastFailure: an item that succeeds does not hide why another failed.
func TestLastFailure(t *testing.T) {
	t.Parallel()
	r := &itemRun{failed: keySet{}}
	r.noteFailure(ledger.ItemOutcome{Key: "a", Err: errBlind})
	r.noteFailure(ledger.ItemOutcome{Key: "b"})
	if !errors.Is(r.last, errBlind) || !errors.Is(r.cause, errBlind) {
		t.Errorf("%v, %v", r.last, r.cause)
	}
}

// A hangingStore is unavailable for a while, and then answers nothing.
type hangingStore struct {
	ledger.Store
	hangs time.Time
}

func (s hangingStore) Get(ctx context.Context, _ ...ledger.Path) (ledger.Snapshot, error) {
	if time.Now().Before(s.hangs) {
		return ledger.Snapshot{}, ledger.ErrUnavailable
	}
	<-ctx.Done()
	return ledger.Snapshot{}, ctx.Err()
}

// TestItemsInsistSayWhy: where the time for a commit runs out in a call of the store, the error includes
// what the store said before.
func TestItemsInsistSayWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := hangingStore{hangs: time.Now().Add(effect.RecordTimeout / 2)}
		l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := &itemRun{Options: Options{Ledger: l}}
		r.task.Lease = ledger.Lease{Operation: "batches/a", Effect: "x"}
		_, err = r.insist(t.Context(), time.Now().Add(effect.RecordTimeout), make([]ledger.ItemOutcome, 1))
		if !errors.Is(err, ledger.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

// TestNextLimit: pages grow while items are small, and shrink where they are large.
func TestNextLimit(t *testing.T) {
	t.Parallel()
	large := []ledger.Item{{Response: strings.Repeat("x", maxChunkBytes/2+1)}}
	for _, c := range []struct {
		limit int
		page  []ledger.Item
		want  int
	}{{16, nil, 32}, {maxKeptPage, nil, maxKeptPage}, {32, large, 16}, {minItemPage, large, minItemPage}} {
		if got := nextLimit(c.limit, maxKeptPage, c.page); got != c.want {
			t.Errorf("%d after %d, want %d", got, c.limit, c.want)
		}
	}
}
