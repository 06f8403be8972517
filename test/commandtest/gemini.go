package commandtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
)

// Readable is the body of a delivery that this revision reads.
const Readable = `{"type":"batch.succeeded","version":"v1",` +
	`"timestamp":"2026-11-21T12:00:00Z","data":{"id":"batches/a"}}`

// FakeGemini is a simulator without faults, and the variables that point a command at it.
func FakeGemini(t *testing.T, f File) (sim *geminisim.Sim, variables []string) {
	t.Helper()
	f.Empty()
	sim = geminisim.New(geminisim.Config{Seed: 1})
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		sim.Close()
		server.Close()
	})
	return sim, []string{
		"OPLEDGER_STORE=" + f.Store(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + server.URL,
		"OPLEDGER_GRACE=1ms", // so that what was just registered is due
	}
}

// Batch starts a batch that stays in a state.
func Batch(t *testing.T, sim *geminisim.Sim, displayName string, state geminisim.State) string {
	t.Helper()
	return Start(t, sim, displayName, geminisim.Script{Hold: state})
}

// Start starts a batch with a script.
func Start(t *testing.T, sim *geminisim.Sim, displayName string, script geminisim.Script) string {
	t.Helper()
	sim.Script(displayName, script)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1beta/models/m:batchGenerateContent",
		strings.NewReader(`{"batch":{"displayName":"`+displayName+`","inputConfig":{"fileName":"files/x"}}}`))
	r.Header.Set("X-Goog-Api-Key", "k")
	sim.Handler().ServeHTTP(httptest.NewRecorder(), r)
	batches := sim.Batches()
	return batches[len(batches)-1].Name
}

// WantEffect checks the state of the effect log of an operation.
func WantEffect(t *testing.T, f File, name string, state ledger.EffectState) {
	t.Helper()
	var story ledger.Story
	OneObject(t, Run(t, nil, "show", name, "--json", "--store", f.Store()).Want(t, terminal.ExitDone).Out, &story)
	if len(story.Effects) != 1 || story.Effects[0].State != state {
		t.Errorf("the effects of %s are %+v, want one %s", name, story.Effects, state)
	}
}

// DeliverSecret is a signing secret for webhook deliver.
const DeliverSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
