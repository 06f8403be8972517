package console

import (
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// leaveOut is a start with the effect archive, and one without it.
func (w *world) leaveOut() {
	w.Helper()
	archive := ledger.Rule{Name: "archive", On: []operation.State{operation.Succeeded}}
	for _, rules := range [][]ledger.Rule{{archive}, nil} {
		_, err := w.StoreSettings(w.Context(), ledger.NewStoredSettings("serve", rules, nil))
		w.do(err)
	}
}

// TestLeftOut: the Overview names an effect that is left out and leads to the list of what ended without it, which
// says how to plan it once it is planned again.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.leaveOut()
	const address = "/console/operations?without=archive"
	says(t, w.get("/").Body.String(), address, "without the effect archive", "effects-unknown")
	says(t, w.get(address).Body.String(), "left out since ", "No operation ended without the effect archive.")
	w.register("batches/a", "nightly", "")
	w.event("batches/a", "m1", operation.Succeeded, operation.Webhook)
	says(t, w.get("/").Body.String(), "1 operation ended without it since")
	says(t, w.get(address).Body.String(), "opledger resolve --without archive", "/console/operation?key=batches%2Fa")
	_, err := w.StoreSettings(w.Context(), ledger.NewStoredSettings("serve",
		[]ledger.Rule{{Name: "archive", On: []operation.State{operation.Succeeded}}}, nil))
	w.do(err)
	says(t, w.get(address).Body.String(), "planned again since ",
		"opledger replay --without archive --dry-run --store sqlite:demo.db")
	if code := w.get("/console/operations?without=other").Code; code != 400 {
		t.Errorf("of an effect that was never left out: %d", code)
	}
	if code := w.get(address + "&show=dead").Code; code != 400 {
		t.Errorf("with another list: %d", code)
	}
}
