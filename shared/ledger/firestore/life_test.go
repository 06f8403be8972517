package firestore_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
	"github.com/opledger/opledger/test/harness/meter"
)

const publish = "publish"

// An outbox counts what a ledger publishes.
type outbox struct {
	mu   sync.Mutex
	sent []ledger.Message
}

func (o *outbox) Publish(_ context.Context, m ledger.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, m)
	return nil
}

func newLedger(t testing.TB, store ledger.Store, publisher ledger.Publisher) *ledger.Ledger {
	t.Helper()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: publish, On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{Publisher: publisher})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func nameOf(i int) operation.Name {
	resource := fmt.Sprintf("batches/%d", i)
	return operation.Name{Key: operation.Key(resource), Resource: resource}
}

func success(i int, delivery string) operation.Event {
	return operation.Event{
		Name: nameOf(i), DeliveryID: delivery, Source: operation.Webhook, Type: "batch.succeeded",
		State: operation.Succeeded, UpdateTime: today, Result: operation.Result{OutputFile: "files/out"},
	}
}

// A step is one call in an operation's life.
type step struct {
	name string
	call func() error
}

// life returns the calls from registration to outcome, of one operation with one effect.
func life(ctx context.Context, l *ledger.Ledger) []step {
	var lease ledger.Lease
	return []step{
		{"register", func() error {
			_, err := l.Operations.Register(ctx, ledger.Registration{
				Name: nameOf(1), Submission: operation.Submission{JobKind: "kind"}, SubmittedAt: today,
			})
			return err
		}},
		{"webhook", func() error {
			receipt, err := l.Operations.Ingest(ctx, success(1, "delivery"))
			if err == nil && (receipt.Outcome != ledger.Applied || receipt.Planned != 1 || !receipt.Settled) {
				err = fmt.Errorf("the receipt is %+v", receipt)
			}
			return err
		}},
		{"claim", func() error {
			grant, err := l.Effects.Claim(ctx, nameOf(1).Key, publish)
			if err == nil && grant.Verdict != ledger.Claimed {
				err = fmt.Errorf("the verdict is %s", grant.Verdict)
			}
			lease = grant.Lease
			return err
		}},
		{"extend", func() error { return l.Effects.Extend(ctx, lease) }},
		{"chunk", func() error {
			_, err := l.Items.Record(ctx, lease, lease.Progress,
				[]ledger.ItemOutcome{{Index: 0, Key: "a"}, {Index: 1, Key: "b"}})
			return err
		}},
		{"finish", func() error { return l.Effects.Finish(ctx, lease) }},
	}
}

// TestALifeThroughFaults leads an operation through its life while the first commits of each call
// fail on the wire. The ledger recovers by itself, and everything has happened once.
func TestALifeThroughFaults(t *testing.T) {
	t.Parallel()
	for _, faults := range [][]fault{
		{failBefore},
		{loseAnswer},
		{abort},
		{breakDown},
		{expire},
		{exhaust},
		{abort, abort, abort},
		{failBefore, failBefore, loseAnswer},
		{abort, loseAnswer},
		{loseAnswer, failBefore},
		{expire, breakDown},
	} {
		t.Run(fmt.Sprint(faults), func(t *testing.T) {
			t.Parallel()
			layer := inject()
			store := opened(t, layer.dial())
			var published outbox
			l := newLedger(t, store, &published)
			for _, s := range life(t.Context(), l) {
				layer.mu.Lock()
				layer.next = inject(faults...).next
				layer.mu.Unlock()
				if err := s.call(); err != nil {
					t.Fatalf("%s: %v", s.name, err)
				}
			}
			story, err := l.Operations.Show(t.Context(), nameOf(1).Key)
			if err != nil {
				t.Fatal(err)
			}
			if len(story.Deliveries) != 1 || len(story.Effects) != 1 || len(published.sent) != 1 {
				t.Fatalf("%d deliveries, %d effects, %d messages", len(story.Deliveries), len(story.Effects), len(published.sent))
			}
			effect := story.Effects[0]
			if effect.State != ledger.EffectDone || effect.Fence != 1 || effect.Attempts != 1 || !story.Record.Closed() {
				t.Errorf("the effect is %+v, the record %+v", effect, story.Record)
			}
		})
	}
}

// TestWhatALifeCosts pins the requests, reads and writes of every call: test/load/README.md states them.
func TestWhatALifeCosts(t *testing.T) {
	t.Parallel()
	var m meter.Meter
	store := opened(t, m.Dial()...)
	l := newLedger(t, store, &outbox{})
	item := ledgertest.BillItem
	want := map[string]struct {
		requests int
		bill     ledgertest.Bill
	}{
		"register": {2, ledgertest.BillRegister},
		"webhook":  {2, ledgertest.BillWebhook},
		"claim":    {2, ledgertest.BillClaim},
		"extend":   {2, ledgertest.Bill{Reads: 1, Writes: 1}},
		"chunk":    {2, ledgertest.Bill{Reads: 2, Writes: 2}.Plus(item).Plus(item)}, // effect and record, and two items
		"finish":   {2, ledgertest.BillFinish},
		"again":    {1, ledgertest.Bill{Reads: 2}},            // the same delivery [W4]
		"dropped":  {2, ledgertest.Bill{Reads: 2, Writes: 1}}, // another delivery with nothing new
		"conflict": {2, ledgertest.Bill{Reads: 2, Writes: 2}}, // another end, which the record notes
	}
	steps := append(life(t.Context(), l),
		step{"again", func() error { _, err := l.Operations.Ingest(t.Context(), success(1, "delivery")); return err }},
		step{"dropped", func() error { _, err := l.Operations.Ingest(t.Context(), success(1, "another")); return err }},
		step{"conflict", func() error {
			e := success(1, "other end")
			e.State = operation.Failed
			_, err := l.Operations.Ingest(t.Context(), e)
			return err
		}})
	var total meter.Metered
	for _, s := range steps {
		if err := s.call(); err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		got, w := m.Collect(), want[s.name]
		if got.Requests() != w.requests || got.Reads != w.bill.Reads || got.Writes != w.bill.Writes {
			t.Errorf("%s cost %d requests, %d reads and %d writes, want %+v (%v)",
				s.name, got.Requests(), got.Reads, got.Writes, w, got.RPCs)
		}
		if slices.Contains([]string{"register", "webhook", "claim", "finish"}, s.name) {
			total.Reads, total.Writes = total.Reads+got.Reads, total.Writes+got.Writes
		}
	}
	t.Logf("from registration to outcome: %d reads and %d writes", total.Reads, total.Writes)
}

// TestManyAtOnce ingests many concurrent deliveries of one completion, identical ones or each with
// its own id.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	for _, callers := range harness.Soak(t, []int{50}, []int{50, 200}, []int{50, 500}) {
		for _, identical := range []bool{true, false} {
			t.Run(fmt.Sprintf("callers=%d/identical=%v", callers, identical), func(t *testing.T) {
				t.Parallel()
				var published outbox
				store := opened(t)
				ledgers := make([]*ledger.Ledger, callers) // as many processes: in one, they would queue up
				for i := range ledgers {
					ledgers[i] = newLedger(t, store, &published)
				}
				r := ledger.Registration{Name: nameOf(1), SubmittedAt: today}
				if _, err := ledgers[0].Operations.Register(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				outcomes := burst(t, ledgers, 1, callers, identical)
				t.Logf("%d deliveries in %v: %v", callers, time.Since(start).Round(time.Millisecond), outcomes)
				rest := ledger.Dropped
				if identical {
					rest = ledger.Duplicate
				}
				if outcomes[ledger.Applied] != 1 || outcomes[rest] != callers-1 || len(published.sent) != 1 {
					t.Errorf("outcomes %v and %d messages", outcomes, len(published.sent))
				}
			})
		}
	}
}

// burst ingests concurrent deliveries of operation i's completion, through the ledgers in turn, and
// counts the outcomes.
func burst(t testing.TB, ledgers []*ledger.Ledger, i, callers int, identical bool) map[ledger.Outcome]int {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[ledger.Outcome]int{}
	for caller := range callers {
		wg.Go(func() {
			id := "delivery"
			if !identical {
				id = fmt.Sprint(caller)
			}
			receipt, err := ledgers[caller%len(ledgers)].Operations.Ingest(t.Context(), success(i, id))
			if err != nil {
				t.Errorf("Ingest: %v", err)
			}
			mu.Lock()
			outcomes[receipt.Outcome]++
			mu.Unlock()
		})
	}
	wg.Wait()
	return outcomes
}
