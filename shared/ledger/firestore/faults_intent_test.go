package firestore_test

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// searched is a pass that has found the intent due.
func searched(w *faultWorld) {
	w.intend()
	w.store.Advance(7 * time.Hour)
	now := got[time.Time](w)(w.l.Now(w.ctx))
	found := got[ledger.Page[ledger.DueIntent]](w)(w.l.DueIntents(w.ctx, now, ledger.Cursor{}, 1))
	w.waiting = found.Items[0]
}

func (w *faultWorld) intent() ledger.Intent {
	return got[ledger.Intent](w)(w.l.Intent(w.TB.Context(), "c-1"))
}

// forgettable is an intent that was recorded and has no operation.
func forgettable(w *faultWorld) {
	w.intend()
	w.waiting.Intent = w.intent()
}

func intends(w *faultWorld) (any, error) {
	intent, err := w.l.Intend(w.ctx, ledger.Intention{CorrelationID: "c-1", JobKind: "kind"})
	return intent.State, err
}

var intentCalls = []faultCall{
	{name: "Intend", arrange: nothing, act: intends},
	{name: "Intend/after its event", arrange: func(w *faultWorld) { got[any](w)(ingests(marked)(w)) }, act: intends},
	{name: "Renew", arrange: forgettable, act: func(w *faultWorld) (any, error) {
		renewed, err := w.l.Renew(w.ctx, w.waiting.Intent)
		return renewed.State, err
	}, settled: []error{ledger.ErrConflict}},
	{name: "Withdraw", arrange: (*faultWorld).intend, act: func(w *faultWorld) (any, error) {
		return w.l.Withdraw(w.ctx, "c-1")
	}},
	{name: "KeepName", arrange: (*faultWorld).intend, act: func(w *faultWorld) (any, error) {
		return w.l.KeepName(w.ctx, "c-1", operation.Name{Key: key, Resource: string(key)})
	}},
	{name: "PostponeIntent", arrange: searched, act: func(w *faultWorld) (any, error) {
		return w.l.PostponeIntent(w.ctx, w.waiting, w.start.Add(7*time.Hour))
	}, settled: []error{ledger.ErrConflict}},
	{name: "AbandonIntent", arrange: searched, act: func(w *faultWorld) (any, error) {
		return nil, w.l.AbandonIntent(w.ctx, w.waiting, w.start.Add(7*time.Hour))
	}, settled: []error{ledger.ErrConflict}},
	{name: "ForgetIntent", arrange: forgettable, act: func(w *faultWorld) (any, error) {
		return nil, w.l.ForgetIntent(w.ctx, w.waiting.Intent)
	}},
}

var suspect = ledger.Suspect{ID: "delivery-1", Reason: "json", Detail: "unexpected end", Body: []byte("{")}

func (w *faultWorld) quarantine() { got[bool](w)(w.l.Quarantine(w.ctx, suspect)) }

var quarantineCalls = []faultCall{
	{name: "Quarantine", arrange: nothing, act: func(w *faultWorld) (any, error) {
		return w.l.Quarantine(w.ctx, suspect)
	}},
	{name: "MarkRetried", arrange: (*faultWorld).quarantine, act: func(w *faultWorld) (any, error) {
		return nil, w.l.MarkRetried(w.ctx, suspect.ID, ledger.Applied)
	}, loose: []string{"_revision"}},
	{name: "ForgetQuarantined", arrange: (*faultWorld).quarantine, act: func(w *faultWorld) (any, error) {
		return nil, w.l.ForgetQuarantined(w.ctx, suspect.ID)
	}},
}
