package operations_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/operations"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestListTable: a table, newest first, with local times and their offset; stderr names the ledger.
func TestListTable(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/first", "operations/second")
	f.Settle("batches/first", operation.Succeeded, operation.Result{})
	f.Settle("batches/stranger", operation.Failed, operation.Result{})
	s := commandtest.Run(t, nil, "list", "--store", f.Store()).Want(t, terminal.ExitDone)
	if want := "opledger: the ledger is in " + f.Store() + "\n"; s.Err != want {
		t.Errorf("stderr %q, want %q", s.Err, want)
	}
	at := commandtest.LocalPattern
	want := regexp.MustCompile(`^OPERATION +STATE +CORRELATION ID +JOB KIND +SUBMITTED +SETTLED +BY +LOOK-UPS +EFFECTS
batches/stranger +FAILED \(unregistered\) +- +- +- +` + at + ` +webhook +0 +-
operations/second +PENDING +- +test +` + at + ` +- +- +0 +-
batches/first +SUCCEEDED +- +test +` + at + ` +` + at + ` +webhook +0 +log open
$`)
	if !want.MatchString(s.Out) {
		t.Errorf("the table is\n%s", s.Out)
	}
}

// TestListJSON: one object, with times in UTC; an empty list is not null.
func TestListJSON(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register()
	empty := commandtest.Run(t, nil, "list", "--json", "--store", f.Store()).Want(t, terminal.ExitDone)
	if got := strings.Join(strings.Fields(empty.Out), ""); got != `{"next":"","operations":[]}` {
		t.Errorf("an empty ledger is %s", empty.Out)
	}
	if s := commandtest.Run(t, nil, "list", "--store", f.Store()).Want(t, terminal.ExitDone); s.Out != "no operations\n" {
		t.Errorf("an empty ledger is %q", s.Out)
	}
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	s := commandtest.Run(t, nil, "list", "--json", "--store", f.Store()).Want(t, terminal.ExitDone)
	commandtest.WantUTC(t, s.Out)
	var l commandtest.Listed
	commandtest.OneObject(t, s.Out, &l)
	if len(l.Operations) != 1 || l.Operations[0].Effects["log"] != operation.EffectOpen || l.Next != "" {
		t.Errorf("%+v", l)
	}
}

// TestListFilters: --state and --collection in upper and lower case, and --pending.
func TestListFilters(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "operations/b", "batches/c")
	f.Settle("batches/a", operation.Failed, operation.Result{})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--state", "failed"}, []string{"batches/a"}},
		{[]string{"--state", "PENDING"}, []string{"batches/c", "operations/b"}},
		{[]string{"--state", "failed,PENDING"}, []string{"batches/c", "operations/b", "batches/a"}},
		{[]string{"--state", "failed", "--state", "failed"}, []string{"batches/a"}},
		{[]string{"--job-kind", "te*", "--limit", "2"}, []string{"batches/c", "operations/b"}},
		{[]string{"--job-kind", "other"}, nil},
		{[]string{"--collection", "Batches"}, []string{"batches/c", "batches/a"}},
		{[]string{"--collection", "batches", "--state", "pending"}, []string{"batches/c"}},
		{[]string{"--pending"}, []string{"operations/b", "batches/c"}},
		{[]string{"--state", "CANCELLED"}, nil},
	} {
		var l commandtest.Listed
		commandtest.OneObject(t, commandtest.Run(t, nil,
			append([]string{"list", "--json", "--store", f.Store()}, c.args...)...).Want(t,
			terminal.ExitDone).Out, &l)
		if !slices.Equal(l.Keys(), c.want) {
			t.Errorf("%v: %v, want %v", c.args, l.Keys(), c.want)
		}
	}
}

// TestListDead: --dead finds the operations with a dead effect, in pages, and of one state or
// collection; waived and replayed ones are not among them [S2, G5].
func TestListDead(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a", "operations/b", "batches/c", "batches/waived", "batches/replayed")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Effects.Waive(ctx, "batches/waived", "log", ledger.Decision{By: "ops", Why: "by hand"})
		_, replayErr := l.Effects.Replay(ctx, ledger.Message{Operation: "batches/replayed", Effect: "log", ID: "m1"})
		return errors.Join(err, replayErr)
	})
	f.Register("batches/open")
	f.Settle("batches/open", operation.Succeeded, operation.Result{})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"batches/c", "operations/b", "batches/a"}},
		{[]string{"--collection", "batches"}, []string{"batches/c", "batches/a"}},
		{[]string{"--state", "succeeded"}, []string{"batches/c", "operations/b", "batches/a"}},
		{[]string{"--state", "failed"}, nil},
		{[]string{"--state", "succeeded", "--collection", "operations"}, []string{"operations/b"}},
		{[]string{"--limit", "2"}, []string{"batches/c", "operations/b"}},
	} {
		var l struct {
			commandtest.Listed
			Partial bool
		}
		commandtest.OneObject(t, commandtest.Run(t, nil,
			append([]string{"list", "--dead", "--json", "--store", f.Store()}, c.args...)...).Want(t,
			terminal.ExitDone).Out, &l)
		limited := len(c.args) > 0 && c.args[0] == "--limit"
		if !slices.Equal(l.Keys(), c.want) || (l.Next != "") != limited || l.Partial != limited {
			t.Errorf("%v: %v, want %v; partial %v", c.args, l.Keys(), c.want, l.Partial)
		}
	}
	s := commandtest.Run(t, nil, "list", "--dead", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !regexp.MustCompile(`^OPERATION +EFFECT +DIED +ATTEMPTS +ERROR
(?:[a-z]+/[abc] +log +` + commandtest.LocalPattern + ` +1 +the target said no\n){3}
EFFECTS +NEWEST +ERROR
3 +` + commandtest.LocalPattern + ` +the target said no
$`).MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	var dead struct {
		Effects []operations.DeadEffect
		Errors  []phrase.FailureGroup
	}
	commandtest.OneObject(t, commandtest.Run(t, nil, "list", "--dead", "--json", "--store", f.Store()).Want(t,
		terminal.ExitDone).Out, &dead)
	if len(dead.Effects) != 3 || dead.Effects[0].Operation != "batches/c" || dead.Effects[0].DiedAt.IsZero() ||
		len(dead.Errors) != 1 || dead.Errors[0].Count != 3 {
		t.Errorf("%+v", dead)
	}
	commandtest.Run(t, nil, "list", "--dead", "--limit", "2", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t,
		"\nat least 2 ", "\n2 of 3\nmore: --after ")
	commandtest.Run(t, nil, "list", "--dead", "--pending", "--store", f.Store()).Want(t, terminal.ExitUsage, "pending",
		"dead").Complaint(t)
}

// TestListDeadAlert: a dead alert whose subject is no operation is listed, and replayed with the
// other dead effects.
func TestListDeadAlert(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	effect := f.DeadAlert("intents/nightly")
	s := commandtest.Run(t, nil, "list", "--dead", "--store", f.Store()).Want(t, terminal.ExitDone)
	row := regexp.MustCompile(`(?m)^intents/nightly +` +
		regexp.QuoteMeta(effect) + ` +` + commandtest.LocalPattern + ` +1 +no answer$`)
	if !row.MatchString(s.Out) || !strings.Contains(s.Out, "\nbatches/a ") {
		t.Errorf("%s", s.Out)
	}
	if s := commandtest.Run(t, nil, "list", "--store", f.Store()).Want(t, terminal.ExitDone); strings.Contains(s.Out,
		"intents/nightly") {
		t.Errorf("%s", s.Out)
	}
	s = commandtest.Run(t, nil, "replay", "--dead", "--dry-run", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !strings.Contains(s.Out, "intents/nightly  "+effect+"  dead") || !strings.Contains(s.Out, "batches/a") {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, nil, "waive", "intents/nightly", "--effect", effect, "--reason", "read", "--store",
		f.Store()).Want(t,
		terminal.ExitDone)
	if s := commandtest.Run(t, nil, "list", "--dead", "--store", f.Store()).Want(t,
		terminal.ExitDone); strings.Contains(s.Out,
		"intents/nightly") {
		t.Errorf("%s", s.Out)
	}
}
