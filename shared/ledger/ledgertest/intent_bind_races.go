package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// givingUp is a move that gives an intent up; ErrConflict is no error.
func (w *world) givingUp(due ledger.DueIntent, won *int) move {
	now := w.now()
	return func(l *ledger.Ledger) error {
		_, err := l.Intents.Abandon(w.ctx, due, now, "nothing was found")
		if isConflict(err) {
			return nil
		}
		*won++
		return err
	}
}

// intending is a move that records the intent.
func (w *world) intending(id string, intent *ledger.Intent) move {
	return func(l *ledger.Ledger) (err error) {
		*intent, err = l.Intents.Intend(w.ctx, w.intention(id))
		return err
	}
}

// overdue records an intent, and returns it as a pass finds it when it is overdue.
func (w *world) overdue(id string) ledger.DueIntent {
	w.Helper()
	w.intend(id)
	w.store.Advance(w.settings.StuckAfter + time.Second)
	items := w.dueIntents().Items
	if len(items) != 1 {
		w.Fatalf("%d intents are due", len(items))
	}
	return items[0]
}

var intentBindRaces = join(
	both("two operations for one intent [G6, M6]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		var one, two ledger.Receipt
		first := w.intended("d1", "i-1", operation.Succeeded, time.Second)
		second := w.intended("d2", "i-1", operation.Succeeded, time.Second)
		second.Name = nameOf(w, "batches/second")
		return w.ingesting(first, &one), w.ingesting(second, &two), func() {
			winner, loser := one, two
			if two.Bound {
				winner, loser = two, one
			}
			if !winner.Bound || winner.Planned != 1 || loser.Bound || loser.Registered || loser.Planned != 0 ||
				loser.Outcome != ledger.Applied {
				w.Errorf("winner %+v, loser %+v", winner, loser)
			}
			w.name.Key = loser.Key
			equal(w, "state of the other", w.record().State, operation.Succeeded)
			w.name.Key = winner.Key
			w.boundTo("i-1")
			w.plannedOnce()
		}
	}),
	both("a webhook against the registration of an intent [G6, W5]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		var hook ledger.Receipt
		var registered ledger.Registered
		return w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook),
			func(l *ledger.Ledger) (err error) {
				registered, err = l.Operations.Register(
					w.ctx, ledger.Registration{
						Name: w.name, Submission: operation.Submission{CorrelationID: "i-1"}, SubmittedAt: w.intent("i-1").CreatedAt,
					},
				)
				return err
			}, func() {
				equal(w, "planned", hook.Planned+registered.Planned, 1)
				equal(w, "created by register", registered.Created, !hook.Bound)
				w.boundTo("i-1")
				w.plannedOnce()
			}
	}),
	both("a webhook against discovery [G6, M7]", func(w *world) (a, b move, check func()) {
		w.intend("i-1")
		var hook, found ledger.Receipt
		look := w.lookup(operation.Succeeded, time.Second)
		look.CorrelationID = "i-1"
		a = w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook)
		return a, w.ingesting(look, &found), func() {
			equal(w, "one bound it", hook.Bound != found.Bound, true)
			equal(w, "planned", hook.Planned+found.Planned, 1)
			w.boundTo("i-1")
			w.plannedOnce()
		}
	}),
	both("giving up against binding [G6]", func(w *world) (a, b move, check func()) {
		due, won := w.overdue("i-1"), 0
		var hook ledger.Receipt
		return w.givingUp(due, &won), w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook), func() {
			equal(w, "bound", hook.Bound, true)
			equal(w, "given up before", !w.intent("i-1").AbandonedAt.IsZero(), won == 1)
			w.boundTo("i-1")
			w.plannedOnce()
		}
	}),
	both("giving up against registering [G6]", func(w *world) (a, b move, check func()) {
		due, won := w.overdue("i-1"), 0
		return w.givingUp(due, &won), func(l *ledger.Ledger) error {
				_, err := l.Operations.Register(
					w.ctx, ledger.Registration{
						Name: w.name, Submission: operation.Submission{CorrelationID: "i-1"}, SubmittedAt: due.Intent.CreatedAt,
					},
				)
				return err
			}, func() {
				w.boundTo("i-1")
				w.lives("pending", true, 0)
			}
	}),
	both("two passes give one intent up [R6]", func(w *world) (a, b move, check func()) {
		due, won := w.overdue("i-1"), 0
		return w.givingUp(due, &won), w.givingUp(due, &won), func() {
			equal(w, "passes that gave it up", won, 1)
			equal(w, "state", w.intent("i-1").State, ledger.IntentAbandoned)
		}
	}),
	both("one intent recorded twice at once [G6]", func(w *world) (a, b move, check func()) {
		var one, two ledger.Intent
		return w.intending("i-1", &one), w.intending("i-1", &two), func() {
			equal(w, "one recorded it", one.Created != two.Created, true)
			equal(w, "version", w.intent("i-1").Version, 1)
		}
	}),
	both("an intent against its own event [G6, W5]", func(w *world) (a, b move, check func()) {
		var intent ledger.Intent
		var hook ledger.Receipt
		b = w.ingesting(w.intended("d1", "i-1", operation.Succeeded, time.Second), &hook)
		return w.intending("i-1", &intent), b, func() {
			// In either order the intent is bound.
			equal(w, "the intent was first", intent.State == ledger.IntentOpen, hook.Bound)
			equal(w, "state", w.intent("i-1").State, ledger.IntentBound)
			w.plannedOnce()
		}
	}),
	both("an intent against its registration [G6]", func(w *world) (a, b move, check func()) {
		var intent ledger.Intent
		return w.intending("i-1", &intent),
			func(l *ledger.Ledger) error { _, err := l.Operations.Register(w.ctx, w.correlated("i-1")); return err }, func() {
				equal(w, "state", w.intent("i-1").State, ledger.IntentBound)
				equal(w, "its operation", w.intent("i-1").Operation, w.name.Key)
			}
	}),
	[]ledgerTest{{"the submitter, the webhook, discovery and reconciliation at once [G6, M6, M7]", func(w *world) {
		w.jitter = nil
		due := w.overdue("i-1")
		bound := crowd(w, 24, func(l *ledger.Ledger, i int) (bool, error) {
			switch i % 4 {
			case 0:
				r, err := l.Operations.Ingest(w.ctx, w.intended(fmt.Sprint("d", i), "i-1", operation.Succeeded, time.Second))
				return r.Bound, err
			case 1:
				e := w.lookup(operation.Succeeded, time.Second)
				e.CorrelationID = "i-1"
				r, err := l.Operations.Ingest(w.ctx, e)
				return r.Bound, err
			case 2:
				r, err := l.Operations.Register(
					w.ctx, ledger.Registration{
						Name: w.name, Submission: operation.Submission{CorrelationID: "i-1"}, SubmittedAt: due.Intent.CreatedAt,
					},
				)
				return r.Created, errors.Join(err, r.CorrelationErr)
			default:
				if _, err := l.Intents.Abandon(w.ctx, due, w.now(), ""); !isConflict(err) {
					return false, err
				}
				_, err := l.Intents.Intend(w.ctx, w.intention("i-1"))
				return false, err
			}
		})
		equal(w, "callers that made the record", count(bound, func(b bool) bool { return b }), 1)
		w.boundTo("i-1")
		w.plannedOnce()
	}}, {"many operations for one intent at once [G6]", func(w *world) {
		w.jitter = nil
		w.intend("i-1")
		receipts := crowd(w, 12, func(l *ledger.Ledger, i int) (ledger.Receipt, error) {
			e := w.intended("d1", "i-1", operation.Succeeded, time.Second)
			e.Name.Key, e.Name.Resource = operation.Key(fmt.Sprint("batches/n-", i)), fmt.Sprint("batches/n-", i)
			return l.Operations.Ingest(w.ctx, e)
		})
		equal(w, "bound", count(receipts, func(r ledger.Receipt) bool { return r.Bound && r.Planned == 1 }), 1)
		for _, r := range receipts {
			w.name.Key = r.Key
			equal(w, "state", w.record().State, operation.Succeeded)
			equal(w, "registered", w.record().Registered, r.Bound)
		}
		w.published(publish)
	}}},
)
