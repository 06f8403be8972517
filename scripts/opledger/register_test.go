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

// batch starts one that stays in a state.
func batch(t *testing.T, sim *geminisim.Sim, displayName string, state geminisim.State) string {
	t.Helper()
	return start(t, sim, displayName, geminisim.Script{Hold: state})
}

// start starts a batch that goes by a script.
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

// TestRegister: the record is made, a second time it is known, and neither Gemini nor a webhook is
// asked for [L2, K1].
func TestRegister(t *testing.T) {
	t.Parallel()
	f := newFile(t)
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

// TestRegisterRunsWhatIsDue: registering an operation that ended before runs its effect at once
// [W5].
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

// TestReconcileItems: an effect that runs once per item fetches the results with the command's own
// key and address, and without a key the command says what it misses [K4].
func TestReconcileItems(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	sim, variables := fakeGemini(t, f)
	variables = append(variables, "OPLEDGER_EFFECTS=[{name: store, on: [SUCCEEDED], do: results, collection: reviews}]")
	name := start(t, sim, "ended", geminisim.Script{Hold: geminisim.StateRunning, Items: 250})
	if err := sim.SetState(name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	cli(t, variables, "register", name).want(t, exitDone)
	cli(t, variables, "reconcile").want(t, exitDone)
	wantEffect(t, f, name, ledger.EffectDone)
	s := cli(t, nil, "show", name, "--store", f.store()).want(t, exitDone)
	if !strings.Contains(s.out, "\nstore items: 250 done, 0 failed, of 250\n") {
		t.Errorf("%s", s.out)
	}
	cli(t, []string{variables[0], variables[len(variables)-1]}, "register", name).want(t, exitUsage, "GEMINI_API_KEY")
}

// TestReconcilePass: register, then one pass: what has ended is settled and its effect run [R1, R2,
// R5].
func TestReconcilePass(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	sim, variables := fakeGemini(t, f)
	ended, running := batch(t, sim, "ended", geminisim.StateSucceeded), batch(t, sim, "running", geminisim.StateRunning)
	for _, name := range []string{ended, running, "batches/gone"} {
		cli(t, variables, "register", name).want(t, exitDone)
	}
	s := cli(t, variables, "reconcile").want(t, exitDone)
	if want := "due 3, checked 3: settled 1, running 1, unknown 0, missing 1, stuck 0; effects requeued 0; " +
		"errors 0\n"; s.out != want {
		t.Errorf("%q, want %q", s.out, want)
	}
	wantEffect(t, f, ended, ledger.EffectDone)
	s = cli(t, variables, "reconcile", "--json").want(t, exitDone)
	var summary map[string]any
	oneObject(t, s.out, &summary)
	if summary["due"] != 0.0 || len(summary) != 13 {
		t.Errorf("the second pass found %s", s.out)
	}
}

// TestReconcileOne looks one operation up now, due or not, by its name in any form [K1].
func TestReconcileOne(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	sim, variables := fakeGemini(t, f)
	variables = append(variables, "OPLEDGER_GRACE=1h")
	name := batch(t, sim, "job", geminisim.StateRunning)
	cli(t, variables, "register", name).want(t, exitDone)
	s := cli(t, variables, "reconcile", "projects/p/locations/us/"+name+"/").want(t, exitDone)
	if want := name + " is RUNNING at Gemini: applied ("; !strings.HasPrefix(s.out, want) || !strings.HasSuffix(s.out,
		"; the ledger says RUNNING\n") {
		t.Errorf("%q", s.out)
	}
	if err := sim.SetState(name, geminisim.StateFailed); err != nil {
		t.Fatal(err)
	}
	s = cli(t, variables, "reconcile", name, "--json").want(t, exitDone)
	var answer map[string]string
	oneObject(t, s.out, &answer)
	if answer["operation"] != name || answer["state"] != "FAILED" || answer["outcome"] != "applied" ||
		answer["reason"] == "" {
		t.Errorf("%s", s.out)
	}
	wantEffect(t, f, name, ledger.EffectDone)
	s = cli(t, variables, "reconcile", name).want(t, exitDone)
	if want := name + " is FAILED at Gemini: duplicate; the ledger says FAILED\n"; s.out != want {
		t.Errorf("%q, want %q", s.out, want)
	}

	cli(t, variables, "register", "batches/gone").want(t, exitDone)
	s = cli(t, variables, "reconcile", "batches/gone").want(t, exitFailed, "looking up batches/gone at Gemini (not-found)")
	s.complaint(t)
}

// TestReconcileWithoutGemini: a pass that gets no answer is done; the operation is asked about
// again [R6].
func TestReconcileWithoutGemini(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.store(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"}
	s := cli(t, variables, "reconcile", "batches/a").want(t, exitFailed, "(unavailable)")
	s.complaint(t)
	cli(t, append(variables, "GOOGLE_GEMINI_BASE_URL=nowhere"), "reconcile").want(t, exitUsage,
		"GOOGLE_GEMINI_BASE_URL").complaint(t)
}
