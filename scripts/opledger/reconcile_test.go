package main

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/secret/secretsim"
)

// TestReconcileItems: an effect that runs once per item fetches the results with the command's API
// key and base URL; without a key the command says what is missing [K4].
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

// TestReconcilePass: after a pass, what has ended is settled and its effect has run [R1, R2, R5].
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
	if summary["due"] != 0.0 || len(summary) != 14 {
		t.Errorf("the second pass found %s", s.out)
	}
}

// TestReconcileOne looks one operation up, due or not, by any form of its name [K1].
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

// TestReconcileWithoutGemini: a pass without an answer succeeds; the operation is looked up again
// [R6].
func TestReconcileWithoutGemini(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.store(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"}
	s := cli(t, variables, "reconcile", "batches/a").want(t, exitUnread, "(unavailable)")
	s.complaint(t)
	cli(t, append(variables, "GOOGLE_GEMINI_BASE_URL=nowhere"), "reconcile").want(t, exitUsage,
		"GOOGLE_GEMINI_BASE_URL").complaint(t)
}

// TestReconcileKeyFromSecret: the API key may be the last version of a secret in Secret Manager;
// without a key nothing starts.
func TestReconcileKeyFromSecret(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/key"
	f := newFile(t)
	gemini, variables := fakeGemini(t, f)
	name := batch(t, gemini, "ended", geminisim.StateSucceeded)
	f.register(name)
	secrets, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer secrets.Close()
	for i, variable := range variables {
		if strings.HasPrefix(variable, "GEMINI_API_KEY=") {
			variables[i] = "OPLEDGER_GEMINI_API_KEY_SECRET=" + full
		}
	}
	variables = append(variables, "SECRET_MANAGER_EMULATOR_HOST="+secrets.Addr())
	cli(t, variables, "reconcile", name).want(t, exitFailed, "OPLEDGER_GEMINI_API_KEY_SECRET", full).complaint(t)
	secrets.Put(full, "k\n", time.Now())
	cli(t, variables, "reconcile", name).want(t, exitDone)
	cli(t, append(variables, "GEMINI_API_KEY=k"), "reconcile", name).want(t, exitUsage,
		"set only one of them").complaint(t)
}
