package ledgertest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// intention is what the world's submitter is about to submit.
func (w *world) intention(id string) ledger.Intention {
	return ledger.Intention{
		Submission: operation.Submission{CorrelationID: id, JobKind: "intended-job", Metadata: `{"team":"reviews"}`},
		Collection: operation.Batches,
	}
}

// intend records the intent.
func (w *world) intend(id string) ledger.Intent {
	w.Helper()
	intent, err := w.ledger().Intents.Intend(w.ctx, w.intention(id))
	if err != nil {
		w.Fatalf("Intend %q: %v", id, err)
	}
	return intent
}

// intent returns the stored intent of an id that needs no escape; the zero Intent where there is
// none.
func (w *world) intent(id string) ledger.Intent {
	w.Helper()
	return read[ledger.Intent](w, ledger.Path(ledger.IntentsCollection+"/"+id))
}

// giveUp gives up every intent that is due.
func (w *world) giveUp() {
	w.Helper()
	for _, due := range w.dueIntents().Items {
		if _, err := w.ledger().Intents.Abandon(w.ctx, due, w.now(), "nothing was found"); err != nil {
			w.Fatalf("Intents.Abandon: %v", err)
		}
	}
}

func (w *world) dueIntents() ledger.Page[ledger.DueIntent] {
	w.Helper()
	page, err := w.ledger().Intents.Due(w.ctx, w.now(), ledger.Cursor{}, 100)
	if err != nil {
		w.Fatalf("Intents.Due: %v", err)
	}
	return page
}

// hostileIDs are texts that a submitter, or an attacker, may choose as a correlation id. All are
// different intents.
func hostileIDs() []string {
	return []string{
		"a/b", "a:b", "a%3Ab", "a%2Fb", "..", ".", "__x__", "a\x00b", " a", "a ", "A", "a", "\u2028", "é", "e\u0301", "🙂",
		"a/effects/publish", "operations/batches:abc-123", "{}", `"`, strings.Repeat("x", operation.MaxLabelBytes),
		strings.Repeat("/", operation.MaxLabelBytes), strings.Repeat("\x01", operation.MaxLabelBytes),
	}
}

var intentRecord = []ledgerTest{
	{"an intent is recorded before there is an operation [G6]", func(w *world) {
		intent := w.intend("i-1")
		equal(w, "recorded by this call", intent.Created, true)
		stored := w.intent("i-1")
		equal(w, "state", stored.State, ledger.IntentOpen)
		equal(w, "job kind", stored.JobKind, "intended-job")
		equal(w, "metadata", stored.Metadata, `{"team":"reviews"}`)
		equal(w, "collection", stored.Collection, operation.Batches)
		equal(w, "given up after [R4]", stored.GiveUpAt.Sub(stored.CreatedAt), w.settings.StuckAfter)
		equal(w, "due, for Gemini's list to be read", stored.DueAt.Sub(stored.CreatedAt), attemptOver)
		equal(w, "never deleted while it is open [L3]", stored.ExpireAt.IsZero(), true)
		equal(w, "verdict", intent.Verdict, ledger.MaySubmit)
		intent.Created, intent.Verdict = false, ""
		if !reflect.DeepEqual(intent, stored) {
			w.Errorf("the answer: %+v, stored: %+v", intent, stored)
		}
	}},
	{"a repeated Intend returns the stored intent and writes nothing [G6]", func(w *world) {
		first := w.intend("i-1")
		counting := Count(w.store)
		other := ledger.Intention{
			Submission: operation.Submission{CorrelationID: "i-1", JobKind: "another", Metadata: `{"other":1}`},
		}
		again, err := w.over(counting).Intents.Intend(w.ctx, other)
		if err != nil || again.Created || again.JobKind != first.JobKind || again.Metadata != first.Metadata ||
			again.State != ledger.IntentOpen {
			w.Errorf("%+v, %v", again, err)
		}
		equal(w, "what stays as it is", strings.Join(again.Kept, " "), "jobKind metadata.other")
		equal(w, "commits", counting.Counts().Commits, 0)
		equal(w, "of the very same", len(w.intend("i-1").Kept), 0)
	}},
	{"what cannot be an intent is refused, with every problem, and writes nothing", func(w *world) {
		counting := Count(w.store)
		for _, c := range []struct {
			change   func(*ledger.Intention)
			metadata bool
			says     []string
		}{
			{func(i *ledger.Intention) { i.CorrelationID = "" }, false, []string{"correlationId: it is missing"}},
			{func(i *ledger.Intention) {
				i.CorrelationID = strings.Repeat("x", operation.MaxLabelBytes+1)
			}, false, []string{"257 bytes"}},
			{func(i *ledger.Intention) { i.CorrelationID = "a\xff" }, false, []string{"U+FFFD"}},
			{func(i *ledger.Intention) { i.CorrelationID = "a\uFFFD" }, false, []string{"U+FFFD"}},
			{func(i *ledger.Intention) { i.JobKind = "a\xff" }, false, []string{"jobKind"}},
			{func(i *ledger.Intention) { i.Metadata = "[]" }, true, []string{"not a JSON object"}},
			{func(i *ledger.Intention) {
				i.Metadata = `{"a":"` + operation.Metadata(strings.Repeat("x", 64<<10)) + `"}`
			}, false, []string{"bytes are more than"}},
			{func(i *ledger.Intention) { i.Collection = "Batches" }, false, []string{"did you mean batches?"}},
			{func(i *ledger.Intention) {
				i.CorrelationID, i.Metadata, i.Collection = "", "{", "x"
			}, true, []string{"correlationId: it is missing", "JSON", `"x"`}},
		} {
			i := w.intention("i-1")
			c.change(&i)
			_, err := w.over(counting).Intents.Intend(w.ctx, i)
			if !errors.Is(err, operation.ErrSubmission) || errors.Is(err, operation.ErrMetadata) != c.metadata {
				w.Errorf("%+v: %v, want ErrSubmission", i, err)
				continue
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					w.Errorf("%v does not say %q", err, part)
				}
			}
		}
		equal(w, "commits", counting.Counts().Commits, 0)
	}},
	{"ids of hostile form are each an intent of its own, and bind [K6]", func(w *world) {
		for n, id := range hostileIDs() {
			equal(w, fmt.Sprintf("%q is new", id), w.intend(id).Created, true)
			w.name = nameOf(w, fmt.Sprint("batches/hostile-", n))
			e := w.event("d", operation.Succeeded, time.Second)
			e.CorrelationID = id
			if r := w.ingest(e); !r.Bound || r.Planned != 1 || r.Key != w.name.Key {
				w.Errorf("%q: %+v", id, r)
			}
			again := w.intend(id)
			equal(w, "state", again.State, ledger.IntentBound)
			equal(w, "operation", again.Operation, w.name.Key)
			equal(w, "id", again.CorrelationID, id)
		}
	}},
	{"a submitter that starts again learns that its job exists [G6]", func(w *world) {
		w.intend("i-1")
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("i-1")); err != nil {
			w.Fatal(err)
		}
		again := w.intend("i-1")
		if again.State != ledger.IntentBound || again.Operation != w.name.Key || again.Created {
			w.Errorf("%+v", again)
		}
	}},
	{"an intent that is recorded after its event registers the operation [G6, W5]", func(w *world) {
		e := w.event("d1", operation.Succeeded, time.Second)
		e.CorrelationID = "i-1"
		equal(w, "registered at first [W5]", w.ingest(e).Registered, false)
		intent := w.intend("i-1")
		if intent.State != ledger.IntentBound || intent.Operation != w.name.Key || intent.Created {
			w.Errorf("%+v", intent)
		}
		w.plannedOnce()
		equal(w, "job kind", w.record().JobKind, "intended-job")
		equal(w, "name [K5]", w.record().Name, w.name.Resource)
	}},
	{"an intent that is recorded after a dropped event registers the operation, too [G6, W5]", func(w *world) {
		w.ingest(w.event("d1", operation.Succeeded, time.Hour))
		e := w.event("d2", operation.Succeeded, time.Second)
		e.CorrelationID = "i-1"
		equal(w, "outcome", w.ingest(e).Outcome, ledger.Dropped)
		equal(w, "state", w.intend("i-1").State, ledger.IntentBound)
		w.plannedOnce()
	}},
	{"an intent whose event and record expired is looked up, and runs nothing again [L3]", func(w *world) {
		e := w.event("d1", operation.Succeeded, time.Second)
		e.CorrelationID = "i-1"
		w.ingest(e)
		w.delete(ledger.OperationPath(w.name.Key))
		w.store.Advance(w.settings.Retention + day)
		intent := w.intend("i-1")
		equal(w, "state", intent.State, ledger.IntentBound)
		equal(w, "of the operation", w.record().State, operation.Pending)
		if r := w.ingest(w.lookup(operation.Succeeded, time.Second)); r.Withheld != 1 || r.Planned != 0 {
			w.Errorf("%+v", r)
		}
	}},
	{"waiting intents are found without reading any other, in pages [L4]", func(w *world) {
		open := func(l *ledger.Ledger, limit int) (ids []string) {
			for after, more := (ledger.Cursor{}), true; more; more = after.Path != "" {
				page, err := l.Intents.Waiting(w.ctx, after, limit)
				if err != nil {
					w.Fatal(err)
				}
				for _, item := range page.Items {
					ids = append(ids, item.Intent.CorrelationID)
				}
				after = page.Next
			}
			return ids
		}
		equal(w, "of none", len(open(w.ledger(), 1)), 0)
		for n := range 9 {
			w.intend(fmt.Sprint("i-", n))
			switch w.name = nameOf(w, fmt.Sprint("batches/b-", n)); n % 3 {
			case 0:
				w.store.Advance(w.settings.StuckAfter + time.Second)
				w.giveUp()
				w.endSearches()
			case 1:
				if _, err := w.ledger().Operations.Register(w.ctx, w.correlated(fmt.Sprint("i-", n))); err != nil {
					w.Fatal(err)
				}
			}
			w.store.Advance(time.Second)
		}
		w.intend("i-young")
		counting := Count(w.store)
		if got := open(w.over(counting), 100); !slices.Equal(got, []string{"i-8", "i-young"}) {
			w.Errorf("open: %q", got)
		}
		equal(w, "documents read", counting.Counts().Read, 2)
		if got := open(w.ledger(), 1); !slices.Equal(got, []string{"i-8", "i-young"}) {
			w.Errorf("open, one by one: %q", got)
		}
	}},
	{"an intent that cannot be read delays no other [R6]", func(w *world) {
		broken := struct {
			Version string    `json:"version" firestore:"version"`
			DueAt   time.Time `json:"dueAt" firestore:"dueAt"`
		}{"not a number", w.start.Add(-100 * day)}
		unchecked := w.store.Store.(*Checked).Store
		if _, err := unchecked.Commit(w.ctx, ledger.Write{Path: "intents/broken", Data: broken}); err != nil {
			w.Fatal(err)
		}
		w.intend("i-1")
		w.store.Advance(w.settings.StuckAfter + time.Second)
		first, err := w.ledger().Intents.Due(w.ctx, w.now(), ledger.Cursor{}, 1)
		if err != nil || len(first.Items) != 0 || len(first.Broken) != 1 {
			w.Fatalf("the broken one: %+v, %v", first, err)
		}
		second, err := w.ledger().Intents.Due(w.ctx, w.now(), first.Next, 1)
		if err != nil || len(second.Items) != 1 {
			w.Errorf("the one behind: %+v, %v", second, err)
		}
	}},
}
