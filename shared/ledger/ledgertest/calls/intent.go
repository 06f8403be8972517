package calls

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// searched is a pass that has found the intent due.
func searched(w *World) {
	w.intend()
	w.Store.Advance(7 * time.Hour)
	now := got[time.Time](w)(w.Ledger.Now(w.Ctx))
	found := got[ledger.Page[ledger.DueIntent]](w)(w.Ledger.Intents.Due(w.Ctx, now, ledger.Cursor{}, 1))
	w.waiting = found.Items[0]
}

// unlisted is an intent that Gemini's list did not have.
func unlisted(w *World) {
	got[ledger.Intent](w)(w.Ledger.Intents.Intend(w.Ctx, ledger.Intention{
		Submission: operation.Submission{CorrelationID: "c-1"}, Collection: operation.Batches, Attempt: "first",
	}))
	w.Store.Advance(10 * time.Minute)
	now := got[time.Time](w)(w.Ledger.Now(w.Ctx))
	found := got[ledger.Page[ledger.DueIntent]](w)(w.Ledger.Intents.Due(w.Ctx, now, ledger.Cursor{}, 1))
	got[bool](w)(w.Ledger.Intents.Postpone(w.Ctx, found.Items[0].Unlisted(time.Time{}, now), now))
}

func (w *World) intent() ledger.Intent {
	return got[ledger.Intent](w)(w.Ledger.Intents.Read(w.Context(), "c-1"))
}

// forgettable is an intent that was recorded and has no operation.
func forgettable(w *World) {
	w.intend()
	w.waiting.Intent = w.intent()
}

func intends(w *World) (any, error) {
	intent, err := w.Ledger.Intents.Intend(w.Ctx, ledger.Intention{
		Submission: operation.Submission{CorrelationID: "c-1", JobKind: "kind"}, Attempt: "first",
	})
	return intent.State, err
}

var intentCalls = []Call{
	{Name: "Intents.Intend", Arrange: nothing, Act: intends},
	{Name: "Intents.Intend/after its event", Arrange: func(w *World) { got[any](w)(ingests(marked)(w)) }, Act: intends},
	{Name: "Intents.Intend/again", Arrange: unlisted, Act: func(w *World) (any, error) {
		renewed, err := w.Ledger.Intents.Intend(w.Ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "c-1"}, Collection: operation.Batches, Attempt: "again",
		})
		return renewed.Verdict, err
	}},
	{Name: "Intents.Withdraw", Arrange: forgettable, Act: func(w *World) (any, error) {
		return w.Ledger.Intents.Withdraw(w.Ctx, "c-1", w.waiting.Intent.Attempt.ID)
	}},
	{Name: "Intents.KeepName", Arrange: (*World).intend, Act: func(w *World) (any, error) {
		return w.Ledger.Intents.KeepName(w.Ctx, "c-1", operation.Name{Key: key, Resource: string(key)})
	}},
	{Name: "Intents.Postpone", Arrange: searched, Act: func(w *World) (any, error) {
		return w.Ledger.Intents.Postpone(w.Ctx, w.waiting, w.Start.Add(7*time.Hour))
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "Intents.ProlongSearch", Arrange: searched, Act: func(w *World) (any, error) {
		return nil, w.Ledger.Intents.ProlongSearch(w.Ctx, w.waiting, w.Start.Add(7*time.Hour))
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "Intents.Abandon", Arrange: searched, Act: func(w *World) (any, error) {
		alerted, err := w.Ledger.Intents.Abandon(w.Ctx, w.waiting, w.Start.Add(7*time.Hour), "nothing was found")
		return alerted.Planned, err
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "Intents.AbandonBy", Arrange: (*World).intend, Act: func(w *World) (any, error) {
		return w.Ledger.Intents.AbandonBy(w.Ctx, "c-1", ledger.Decision{By: "an operator", Why: "it was never submitted"})
	}},
	{Name: "Intents.Forget", Arrange: forgettable, Act: func(w *World) (any, error) {
		return nil, w.Ledger.Intents.Forget(w.Ctx, w.waiting.Intent)
	}},
}

var suspect = ledger.Suspect{ID: "delivery-1", Reason: "json", Detail: "unexpected end", Body: []byte("{")}

func (w *World) quarantine() { got[bool](w)(w.Ledger.Quarantine.Add(w.Ctx, suspect)) }

var quarantineCalls = []Call{
	{Name: "Quarantine.Add", Arrange: nothing, Act: func(w *World) (any, error) {
		return w.Ledger.Quarantine.Add(w.Ctx, suspect)
	}},
	{Name: "Quarantine.MarkRetried", Arrange: (*World).quarantine, Act: func(w *World) (any, error) {
		return nil, w.Ledger.Quarantine.MarkRetried(w.Ctx, suspect.ID, ledger.Applied)
	}, Loose: []string{"_revision"}, Rewrites: true}, // each writes: the last one stands
	{Name: "Quarantine.Resolve", Arrange: (*World).quarantine, Act: func(w *World) (any, error) {
		return w.Ledger.Quarantine.Resolve(w.Ctx, suspect.ID, ledger.Decision{By: "an operator", Why: "it is no event"})
	}},
}
