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
	found := got[ledger.Page[ledger.DueIntent]](w)(w.Ledger.DueIntents(w.Ctx, now, ledger.Cursor{}, 1))
	w.waiting = found.Items[0]
}

// unlisted is an intent that Gemini's list did not have.
func unlisted(w *World) {
	got[ledger.Intent](w)(w.Ledger.Intend(w.Ctx, ledger.Intention{
		Submission: operation.Submission{CorrelationID: "c-1"}, Collection: operation.Batches, Attempt: "first",
	}))
	w.Store.Advance(10 * time.Minute)
	now := got[time.Time](w)(w.Ledger.Now(w.Ctx))
	found := got[ledger.Page[ledger.DueIntent]](w)(w.Ledger.DueIntents(w.Ctx, now, ledger.Cursor{}, 1))
	got[bool](w)(w.Ledger.PostponeIntent(w.Ctx, found.Items[0].Unlisted(time.Time{}, now), now))
}

func (w *World) intent() ledger.Intent {
	return got[ledger.Intent](w)(w.Ledger.Intent(w.Context(), "c-1"))
}

// forgettable is an intent that was recorded and has no operation.
func forgettable(w *World) {
	w.intend()
	w.waiting.Intent = w.intent()
}

func intends(w *World) (any, error) {
	intent, err := w.Ledger.Intend(w.Ctx, ledger.Intention{
		Submission: operation.Submission{CorrelationID: "c-1", JobKind: "kind"}, Attempt: "first",
	})
	return intent.State, err
}

var intentCalls = []Call{
	{Name: "Intend", Arrange: nothing, Act: intends},
	{Name: "Intend/after its event", Arrange: func(w *World) { got[any](w)(ingests(marked)(w)) }, Act: intends},
	{Name: "Intend/again", Arrange: unlisted, Act: func(w *World) (any, error) {
		renewed, err := w.Ledger.Intend(w.Ctx, ledger.Intention{
			Submission: operation.Submission{CorrelationID: "c-1"}, Collection: operation.Batches, Attempt: "again",
		})
		return renewed.Verdict, err
	}},
	{Name: "Withdraw", Arrange: forgettable, Act: func(w *World) (any, error) {
		return w.Ledger.Withdraw(w.Ctx, "c-1", w.waiting.Intent.Attempt.ID)
	}},
	{Name: "KeepName", Arrange: (*World).intend, Act: func(w *World) (any, error) {
		return w.Ledger.KeepName(w.Ctx, "c-1", operation.Name{Key: key, Resource: string(key)})
	}},
	{Name: "PostponeIntent", Arrange: searched, Act: func(w *World) (any, error) {
		return w.Ledger.PostponeIntent(w.Ctx, w.waiting, w.Start.Add(7*time.Hour))
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "ProlongSearch", Arrange: searched, Act: func(w *World) (any, error) {
		return nil, w.Ledger.ProlongSearch(w.Ctx, w.waiting, w.Start.Add(7*time.Hour))
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "AbandonIntent", Arrange: searched, Act: func(w *World) (any, error) {
		alerted, err := w.Ledger.AbandonIntent(w.Ctx, w.waiting, w.Start.Add(7*time.Hour), "nothing was found")
		return alerted.Planned, err
	}, Settled: []error{ledger.ErrConflict}},
	{Name: "AbandonIntentBy", Arrange: (*World).intend, Act: func(w *World) (any, error) {
		return w.Ledger.AbandonIntentBy(w.Ctx, "c-1", ledger.Abandonment{By: "an operator", Why: "it was never submitted"})
	}},
	{Name: "ForgetIntent", Arrange: forgettable, Act: func(w *World) (any, error) {
		return nil, w.Ledger.ForgetIntent(w.Ctx, w.waiting.Intent)
	}},
}

var suspect = ledger.Suspect{ID: "delivery-1", Reason: "json", Detail: "unexpected end", Body: []byte("{")}

func (w *World) quarantine() { got[bool](w)(w.Ledger.Quarantine(w.Ctx, suspect)) }

var quarantineCalls = []Call{
	{Name: "Quarantine", Arrange: nothing, Act: func(w *World) (any, error) {
		return w.Ledger.Quarantine(w.Ctx, suspect)
	}},
	{Name: "MarkRetried", Arrange: (*World).quarantine, Act: func(w *World) (any, error) {
		return nil, w.Ledger.MarkRetried(w.Ctx, suspect.ID, ledger.Applied)
	}, Loose: []string{"_revision"}, Rewrites: true}, // each writes: the last one stands
	{Name: "ResolveQuarantined", Arrange: (*World).quarantine, Act: func(w *World) (any, error) {
		return w.Ledger.ResolveQuarantined(w.Ctx, suspect.ID, ledger.Abandonment{By: "an operator", Why: "it is no event"})
	}},
}
