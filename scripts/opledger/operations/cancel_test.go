package operations_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestCancel: a batch is cancelled at Gemini, its record says who asked for that, and stays pending until
// a look-up finds it cancelled; one that succeeded first succeeds [M7].
func TestCancel(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	name := commandtest.Batch(t, sim, "job", geminisim.StateRunning)
	commandtest.Run(t, variables, "register", name).Want(t, terminal.ExitDone)
	ask := []string{"cancel", name, "--reason", "wrong \x1b[31mprompt", "--by", "kim"}
	commandtest.Run(t, variables, ask[:2]...).Want(t, terminal.ExitUsage, "--reason").Complaint(t)
	for range 2 { // asking again asks Gemini again, and changes nothing here
		commandtest.Run(t, variables, ask...).Want(t, terminal.ExitDone).Says(t,
			"the cancellation of "+name+" requested by kim at ",
			`: wrong \x1b[31mprompt; Gemini was asked, and `+name+" is PENDING until Gemini says how it ended")
	}
	commandtest.Run(t, variables, "cancel", name, "--reason", "other", "--by", "lee").Want(t, terminal.ExitDone).Says(t,
		"already requested by kim at ", "yours was not recorded; Gemini was asked")
	commandtest.Run(t, variables, "show", name).Want(t, terminal.ExitDone).Says(t, "  cancel requested ",
		" by kim: wrong ", "cancellation requested by kim")
	commandtest.Run(t, variables, "list", "--pending").Want(t, terminal.ExitDone).Says(t, "a cancellation was requested")
	if err := sim.SetState(name, geminisim.StateCancelled); err != nil {
		t.Fatal(err)
	}
	commandtest.Run(t, variables, "reconcile", name).Want(t, terminal.ExitDone).Says(t, name+" is CANCELLED at Gemini")
	commandtest.Run(t, variables, ask...).Want(t, terminal.ExitFailed, "has ended already", "CANCELLED").Complaint(t)
}

// TestCancelTells: what Gemini cannot cancel, does not know or cannot be asked about is said, and what is
// recorded all the same.
func TestCancelTells(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	sim, variables := commandtest.FakeGemini(t, f)
	cancel := func(name string) []string { return []string{"cancel", name, "--reason", "r", "--by", "kim"} }
	f.Register("batches/a", "models/veo/operations/v")
	commandtest.Run(t, variables, cancel("models/veo/operations/v")...).Want(t, terminal.ExitFailed,
		"no operation of this kind can be cancelled at Gemini; opledger abandon operations/v stops").Complaint(t)
	commandtest.Run(t, variables, cancel("batches/none")...).Want(t, terminal.ExitFailed, "opledger list").Complaint(t)
	name := commandtest.Batch(t, sim, "job", geminisim.StateRunning)
	commandtest.Run(t, variables, "register", name).Want(t, terminal.ExitDone)
	sim.AnswerNext(geminisim.OpCancel, name, geminisim.Answer{Status: 400})
	commandtest.Run(t, variables, cancel(name)...).Want(t, terminal.ExitFailed, "asking Gemini to cancel "+name, "400",
		"Gemini refuses it: look it up").Complaint(t)
	sim.AnswerNext(geminisim.OpCancel, name, geminisim.Answer{Status: 503})
	commandtest.Run(t, variables, cancel(name)...).Want(t, terminal.ExitFailed, "asking Gemini to cancel "+name, "503",
		"the request is recorded: ask again").Complaint(t)
	var answer struct{ Operation, CancelRequested any }
	s := commandtest.Run(t, variables, append(cancel(name), "--json")...).Want(t, terminal.ExitDone)
	commandtest.OneObject(t, s.Out, &answer)
	if answer.Operation != name || !strings.Contains(fmt.Sprint(answer.CancelRequested), "by:kim why:r") {
		t.Errorf("%+v", answer)
	}
	commandtest.Run(t, variables, "abandon", name, "--reason", "r").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, cancel(name)...).Want(t, terminal.ExitDone).Says(t,
		"; no pass looks it up: opledger reconcile "+name+" does")
	commandtest.Run(t, []string{"OPLEDGER_STORE=" + f.Store()}, cancel(name)...).Want(t, terminal.ExitUsage,
		"GEMINI_API_KEY").Complaint(t)
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	commandtest.Run(t, variables, cancel("batches/a")...).Want(t, terminal.ExitFailed, "has ended already").Complaint(t)
}
