package infra_test

import (
	"fmt"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
)

// healthyLife takes an operation from its intent to its effect through all four functions, with
// every repetition that Gemini and Pub/Sub may make.
func healthyLife(w *world) {
	w.Helper()
	at := w.endpoint(webhooks.Enabled)
	w.submitted(intent)
	name := w.batch("nightly opledger:c-1", geminisim.StateRunning)
	w.submitted(fmt.Sprintf(`{"name":%q,"correlationId":"c-1"}`, name.Resource))
	w.delivered("m1", w.event("batch.running", name.Resource))
	w.pass(at)
	if err := w.sim.SetState(name.Resource, geminisim.StateSucceeded); err != nil {
		w.Fatal(err)
	}
	end := w.event("batch.succeeded", name.Resource)
	w.delivered("m2", end)
	w.delivered("m2", end)
	m := w.message("publish")
	w.run(m, nil)
	w.run(m, nil)
	w.pass(at)
	if rec, err := w.ledger.Operations.Read(w.Context(), name.Key); err != nil || !rec.Settled() {
		w.Errorf("%+v %v, want it to have ended", rec, err)
	}
}
