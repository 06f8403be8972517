package operations_test

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/commandtest"
)

// stored makes an operation of so many items, which an effect has put into a collection.
func stored(t *testing.T, f commandtest.File, items int) (name string, variables []string) {
	t.Helper()
	sim, variables := commandtest.FakeGemini(t, f)
	variables = append(variables, "OPLEDGER_EFFECTS=[{name: store, on: [SUCCEEDED], do: results, collection: reviews}]")
	name = commandtest.Start(t, sim, "job", geminisim.Script{Hold: geminisim.StateRunning, Items: items})
	if err := sim.SetState(name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
	commandtest.Run(t, variables, "register", name).Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "reconcile").Want(t, terminal.ExitDone)
	return name, variables
}

// TestReconcileItems: an effect that runs once per item fetches the results with the command's API
// key and base URL; without a key the command says what is missing [K4].
func TestReconcileItems(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	name, variables := stored(t, f, 250)
	commandtest.WantEffect(t, f, name, ledger.EffectDone)
	s := commandtest.Run(t, nil, "show", name, "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(s.Out, "\nstore items: 250 done, 0 failed, of 250\n") {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, []string{variables[0], variables[len(variables)-1]}, "register", name).Want(t, terminal.ExitUsage,
		"GEMINI_API_KEY")
}

// TestReconcilePass: after a pass, what has ended is settled and its effect has run [R1, R2, R5].
func TestReconcilePass(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	ended, running := commandtest.Batch(t, sim, "ended", geminisim.StateSucceeded),
		commandtest.Batch(t, sim, "running", geminisim.StateRunning)
	for _, name := range []string{ended, running, "batches/gone"} {
		commandtest.Run(t, variables, "register", name).Want(t, terminal.ExitDone)
	}
	s := commandtest.Run(t, variables, "reconcile").Want(t, terminal.ExitDone)
	if want := "due 3, checked 3: settled 1, running 1, unknown 0, missing 1, stuck 0; effects requeued 0; " +
		"errors 0\n"; s.Out != want {
		t.Errorf("%q, want %q", s.Out, want)
	}
	commandtest.WantEffect(t, f, ended, ledger.EffectDone)
	s = commandtest.Run(t, variables, "reconcile", "--json").Want(t, terminal.ExitDone)
	var summary map[string]any
	commandtest.OneObject(t, s.Out, &summary)
	if summary["due"] != 0.0 || len(summary) != 14 {
		t.Errorf("the second pass found %s", s.Out)
	}
}

// TestReconcileOne looks one operation up, due or not, by any form of its name [K1].
func TestReconcileOne(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	variables = append(variables, "OPLEDGER_GRACE=1h")
	name := commandtest.Batch(t, sim, "job", geminisim.StateRunning)
	commandtest.Run(t, variables, "register", name).Want(t, terminal.ExitDone)
	s := commandtest.Run(t, variables, "reconcile", "projects/p/locations/us/"+name+"/").Want(t, terminal.ExitDone)
	if want := name + " is RUNNING at Gemini: applied ("; !strings.HasPrefix(s.Out, want) || !strings.HasSuffix(s.Out,
		"; the ledger says RUNNING\n") {
		t.Errorf("%q", s.Out)
	}
	if err := sim.SetState(name, geminisim.StateFailed); err != nil {
		t.Fatal(err)
	}
	s = commandtest.Run(t, variables, "reconcile", name, "--json").Want(t, terminal.ExitDone)
	var answer map[string]string
	commandtest.OneObject(t, s.Out, &answer)
	if answer["operation"] != name || answer["state"] != "FAILED" || answer["outcome"] != "applied" ||
		answer["reason"] == "" {
		t.Errorf("%s", s.Out)
	}
	commandtest.WantEffect(t, f, name, ledger.EffectDone)
	s = commandtest.Run(t, variables, "reconcile", name).Want(t, terminal.ExitDone)
	if want := name + " is FAILED at Gemini: duplicate; the ledger says FAILED\n"; s.Out != want {
		t.Errorf("%q, want %q", s.Out, want)
	}

	twice := commandtest.Batch(t, sim, "twice", geminisim.StateFailed)
	commandtest.Run(t, variables, "register", twice).Want(t, terminal.ExitDone)
	f.Settle(operation.Key(twice), operation.Succeeded, operation.Result{})
	for range 2 { // the second look-up is a duplicate
		s = commandtest.Run(t, variables, "reconcile", twice).Want(t, terminal.ExitDone)
		want := twice + " is FAILED at Gemini, and the ledger says SUCCEEDED, which stands: it ended in two ways\n"
		if s.Out != want {
			t.Errorf("%q, want %q", s.Out, want)
		}
	}

	commandtest.Run(t, variables, "register", "batches/gone").Want(t, terminal.ExitDone)
	s = commandtest.Run(t, variables, "reconcile", "batches/gone").Want(t, terminal.ExitFailed,
		"looking up batches/gone at Gemini (not-found)")
	s.Complaint(t)
}

// TestReconcileWithoutGemini: a pass without an answer succeeds; the operation is looked up again
// [R6].
func TestReconcileWithoutGemini(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	variables := []string{"OPLEDGER_STORE=" + f.Store(), "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"}
	s := commandtest.Run(t, variables, "reconcile", "batches/a").Want(t, terminal.ExitUnread, "(unavailable)")
	s.Complaint(t)
	commandtest.Run(t, append(variables, "GOOGLE_GEMINI_BASE_URL=nowhere"), "reconcile").Want(t, terminal.ExitUsage,
		"GOOGLE_GEMINI_BASE_URL").Complaint(t)
}

// TestReconcileKeyFromSecret: the API key may be the last version of a secret in Secret Manager;
// without a key nothing starts.
func TestReconcileKeyFromSecret(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/key"
	f := commandtest.NewFile(t)
	gemini, variables := commandtest.FakeGemini(t, f)
	name := commandtest.Batch(t, gemini, "ended", geminisim.StateSucceeded)
	f.Register(name)
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
	commandtest.Run(t, variables, "reconcile", name).Want(t, terminal.ExitFailed, "OPLEDGER_GEMINI_API_KEY_SECRET",
		full).Complaint(t)
	secrets.Put(full, "k\n", time.Now())
	commandtest.Run(t, variables, "reconcile", name).Want(t, terminal.ExitDone)
	commandtest.Run(t, append(variables, "GEMINI_API_KEY=k"), "reconcile", name).Want(t, terminal.ExitUsage,
		"set only one of them").Complaint(t)
}
