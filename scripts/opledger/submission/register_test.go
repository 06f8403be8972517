package submission_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestRegister: a second registration finds the record of the first; neither Gemini nor a webhook
// is needed [L2, K1].
func TestRegister(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Empty()
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	s := commandtest.Run(t, variables, "register",
		"https://generativelanguage.googleapis.com/v1beta/batches/Abc/").Want(t, terminal.ExitDone)
	if s.Out != "batches/Abc registered, PENDING\n" {
		t.Errorf("%q", s.Out)
	}
	s = commandtest.Run(t, variables, "register", "batches/Abc").Want(t, terminal.ExitDone)
	if s.Out != "batches/Abc already known, PENDING\n" {
		t.Errorf("%q", s.Out)
	}
	s = commandtest.Run(t, variables, "register", "batches/Abc", "--job-kind", "nightly", "--metadata",
		`{"a":1}`).Want(t, terminal.ExitDone)
	if s.Out != "batches/Abc already known, PENDING; added jobKind, metadata.a\n" {
		t.Errorf("%q", s.Out)
	}
	s = commandtest.Run(t, variables, "register", "batches/Abc", "--job-kind", "daily", "--metadata",
		`{"a":2,"b":1}`).Want(t,
		terminal.ExitDone)
	if s.Out != "batches/Abc already known, PENDING; added metadata.b; kept as it was: jobKind, metadata.a\n" {
		t.Errorf("%q", s.Out)
	}
	s = commandtest.Run(t, variables, "register", "batches/Abc", "--job-kind", "daily", "--json").Want(t,
		terminal.ExitDone)
	if !strings.Contains(s.Out, `"kept": [`+"\n    \"jobKind\"\n  ]") || !strings.Contains(s.Out, `"jobKind": "nightly"`) {
		t.Errorf("%s", s.Out)
	}
	s = commandtest.Run(t, variables, "register", "batches/B", "--json", "--job-kind", "nightly", "--metadata",
		`{"dataset":"2026-11"}`,
		"--submitted-at", "2026-11-21T04:00:00+02:00", "--correlation-id", "c-1").Want(t, terminal.ExitDone)
	commandtest.WantUTC(t, s.Out)
	var record operation.Record
	commandtest.OneObject(t, s.Out, &record)
	if record.JobKind != "nightly" || string(record.Metadata) != `{"dataset":"2026-11"}` ||
		record.CorrelationID != "c-1" || record.Name != "batches/B" {
		t.Errorf("%+v", record)
	}
	if !strings.Contains(s.Out, `"submittedAt": "2026-11-21T02:00:00Z"`) {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, variables, "register", "batches/C", "--correlation-id", "c-1").Want(t, terminal.ExitDone,
		"without its correlation id",
		"batches/B")
}

// TestRegisterRunsWhatIsDue: registering an operation that has ended runs its effect at once [W5].
func TestRegisterRunsWhatIsDue(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Settle("batches/early", operation.Succeeded, operation.Result{})
	s := commandtest.Run(t, []string{"OPLEDGER_STORE=" + f.Store()}, "register", "batches/early").Want(t,
		terminal.ExitDone)
	if s.Out != "batches/early was known from an event, and is registered now, with 1 effect planned, SUCCEEDED\n" {
		t.Errorf("%q", s.Out)
	}
	commandtest.WantEffect(t, f, "batches/early", ledger.EffectDone)
	f.Settle("batches/runs", operation.Running, operation.Result{})
	commandtest.Run(t, []string{"OPLEDGER_STORE=" + f.Store()}, "register", "batches/runs").Want(t, terminal.ExitDone).
		Says(t, "batches/runs was known from an event, and is registered now; its effects are planned when it ends, RUNNING")
}
