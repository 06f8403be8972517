package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// fakeGemini is a simulator without faults, and the variables that point a command at it.
func fakeGemini(t *testing.T, f file) (sim *geminisim.Sim, variables []string) {
	t.Helper()
	f.empty()
	sim = geminisim.New(geminisim.Config{Seed: 1})
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		sim.Close()
		server.Close()
	})
	return sim, []string{
		"OPLEDGER_STORE=" + f.store(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=" + server.URL,
		"OPLEDGER_GRACE=1ms", // so that what was just registered is due
	}
}

// batch starts a batch that stays in a state.
func batch(t *testing.T, sim *geminisim.Sim, displayName string, state geminisim.State) string {
	t.Helper()
	return start(t, sim, displayName, geminisim.Script{Hold: state})
}

// start starts a batch with a script.
func start(t *testing.T, sim *geminisim.Sim, displayName string, script geminisim.Script) string {
	t.Helper()
	sim.Script(displayName, script)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1beta/models/m:batchGenerateContent",
		strings.NewReader(`{"batch":{"displayName":"`+displayName+`","inputConfig":{"fileName":"files/x"}}}`))
	r.Header.Set("X-Goog-Api-Key", "k")
	sim.Handler().ServeHTTP(httptest.NewRecorder(), r)
	batches := sim.Batches()
	return batches[len(batches)-1].Name
}

// TestRegister: a second registration finds the record of the first; neither Gemini nor a webhook
// is needed [L2, K1].
func TestRegister(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.empty()
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	s := cli(t, variables, "register", "https://generativelanguage.googleapis.com/v1beta/batches/Abc/").want(t, exitDone)
	if s.out != "batches/Abc registered, PENDING\n" {
		t.Errorf("%q", s.out)
	}
	s = cli(t, variables, "register", "batches/Abc").want(t, exitDone)
	if s.out != "batches/Abc already known, PENDING\n" {
		t.Errorf("%q", s.out)
	}
	s = cli(t, variables, "register", "batches/Abc", "--job-kind", "nightly", "--metadata", `{"a":1}`).want(t, exitDone)
	if s.out != "batches/Abc already known, PENDING; added jobKind, metadata.a\n" {
		t.Errorf("%q", s.out)
	}
	s = cli(t, variables, "register", "batches/Abc", "--job-kind", "daily", "--metadata", `{"a":2,"b":1}`).want(t,
		exitDone)
	if s.out != "batches/Abc already known, PENDING; added metadata.b; kept as it was: jobKind, metadata.a\n" {
		t.Errorf("%q", s.out)
	}
	s = cli(t, variables, "register", "batches/Abc", "--job-kind", "daily", "--json").want(t, exitDone)
	if !strings.Contains(s.out, `"kept": [`+"\n    \"jobKind\"\n  ]") || !strings.Contains(s.out, `"jobKind": "nightly"`) {
		t.Errorf("%s", s.out)
	}
	s = cli(t, variables, "register", "batches/B", "--json", "--job-kind", "nightly", "--metadata",
		`{"dataset":"2026-11"}`,
		"--submitted-at", "2026-11-21T04:00:00+02:00", "--correlation-id", "c-1").want(t, exitDone)
	wantUTC(t, s.out)
	var record operation.Record
	oneObject(t, s.out, &record)
	if record.JobKind != "nightly" || string(record.Metadata) != `{"dataset":"2026-11"}` ||
		record.CorrelationID != "c-1" || record.Name != "batches/B" {
		t.Errorf("%+v", record)
	}
	if !strings.Contains(s.out, `"submittedAt": "2026-11-21T02:00:00Z"`) {
		t.Errorf("%s", s.out)
	}
	cli(t, variables, "register", "batches/C", "--correlation-id", "c-1").want(t, exitDone, "without its correlation id",
		"batches/B")
}

// TestRegisterRunsWhatIsDue: registering an operation that has ended runs its effect at once [W5].
func TestRegisterRunsWhatIsDue(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.settle("batches/early", operation.Succeeded, operation.Result{})
	s := cli(t, []string{"OPLEDGER_STORE=" + f.store()}, "register", "batches/early").want(t, exitDone)
	if s.out != "batches/early already known, SUCCEEDED\n" {
		t.Errorf("%q", s.out)
	}
	wantEffect(t, f, "batches/early", ledger.EffectDone)
}

func wantEffect(t *testing.T, f file, name string, state ledger.EffectState) {
	t.Helper()
	var story ledger.Story
	oneObject(t, cli(t, nil, "show", name, "--json", "--store", f.store()).want(t, exitDone).out, &story)
	if len(story.Effects) != 1 || story.Effects[0].State != state {
		t.Errorf("the effects of %s are %+v, want one %s", name, story.Effects, state)
	}
}
