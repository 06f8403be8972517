package reconcile_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/test/harness"
)

// A billed store counts what Firestore would bill. A pass makes several calls at once.
type billed struct {
	ledger.Store
	mu   sync.Mutex
	bill ledgertest.Bill
}

func (b *billed) charge(reads, writes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bill.Reads += reads
	b.bill.Writes += writes
}

func (b *billed) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	b.charge(max(1, len(paths)), 0) // the time is read off a document that is not there
	return b.Store.Get(ctx, paths...)
}

func (b *billed) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	documents, err := b.Store.Query(ctx, q)
	b.charge(max(1, len(documents)), 0)
	return documents, err
}

func (b *billed) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	b.charge(1, 0) // for up to a thousand documents
	return b.Store.Count(ctx, q, ceiling)
}

func (b *billed) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	b.charge(0, len(writes))
	return b.Store.Commit(ctx, writes...)
}

// TestWhatADayCosts pins what the passes of a day cost while nothing is pending, and what one batch
// more that is pending all day adds, with a webhook and without [L4, R6]. Where all passes cost the same, which is
// while nothing is pending and without a webhook, a run outside of the gate makes those of three hours.
func TestWhatADayCosts(t *testing.T) {
	t.Parallel()
	type kind struct {
		pending int
		webhook bool
	}
	bills, lookups := map[kind]ledgertest.Bill{}, map[kind]int{}
	const all = int(24 * time.Hour / interval)
	alike := all
	if !harness.Thorough(t) {
		alike = int(3 * time.Hour / interval)
	}
	t.Run("days", func(t *testing.T) {
		var mu sync.Mutex
		for _, k := range []kind{{0, true}, {1, true}, {2, true}, {1, false}, {2, false}} {
			t.Run(fmt.Sprintf("%+v", k), func(t *testing.T) {
				t.Parallel()
				passes := all
				if k.pending == 0 || !k.webhook {
					passes = alike
				}
				bill, n := day(t, k.pending, k.webhook, passes)
				mu.Lock()
				defer mu.Unlock()
				bills[k], lookups[k] = bill, n
			})
		}
	})
	left, wantPolled := all-alike, ledgertest.BillPolledDay
	wantIdle := ledgertest.BillIdleDay.Minus(ledgertest.Bill{Reads: 5 * left, Writes: left})
	if left > 0 { // the last pass of a day notes besides that the batch is stuck
		wantPolled = wantPolled.Minus(ledgertest.Bill{Reads: left, Writes: left + 1})
	}
	if idle := bills[kind{0, true}]; idle != wantIdle {
		t.Errorf("%d passes without a batch cost %+v, want %+v", alike, idle, wantIdle)
	}
	for webhook, want := range map[bool]ledgertest.Bill{
		true: ledgertest.BillDeliveredDay, false: wantPolled,
	} {
		two := kind{2, webhook}
		if added := bills[two].Minus(bills[kind{1, webhook}]); added != want {
			t.Errorf("webhook %t: a batch more costs %+v, and both have %d look-ups, want %+v", webhook, added,
				lookups[two], want)
		}
	}
}

// day makes so many passes of a day with so many pending batches, and returns what they cost, and how often
// the batches were looked up.
func day(t *testing.T, pending int, webhook bool, passes int) (bill ledgertest.Bill, lookups int) {
	t.Helper()
	w := newWorld(t)
	names := w.manyBatches(pending)
	store := &billed{Store: w.store}
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{
		Publisher: w.outbox, Jitter: func() float64 { return 0 }, // or two batches would not be due in the same passes
	})
	if err != nil {
		t.Fatal(err)
	}
	options := reconcile.Options{Ledger: l, Gemini: w.client, Log: logging.New(w.log, "p")}
	if webhook {
		options.Endpoint, _ = w.endpoint(webhooks.Enabled)
	}
	reconciler := reconcile.New(options)
	for range passes {
		w.clock.Advance(interval)
		if got, err := reconciler.Pass(t.Context()); err != nil || got.Errors != 0 {
			t.Fatalf("%+v %v", got, err)
		}
	}
	for _, name := range names {
		lookups += w.record(name).LookUps
	}
	return store.bill, lookups
}
