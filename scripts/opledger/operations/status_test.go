package operations_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestStatus: what there is, and exit code 1 with the reason only if something needs an operator.
func TestStatus(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "operations/b")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	s := commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitDone)
	if !regexp.MustCompile(`^pending +1, the oldest for \d+m?s: operations/b
effects +0 run, 1 open
dead +0
quarantine +0
intents +0
conflicts +0
unregistered +0
last pass +none has reported yet
webhook +not known

nothing needs an operator

NEEDS NONE YET +COMMAND +PLAYBOOK
no opledger serve runs on this ledger: nothing is .* variables and flags.* +opledger serve --store \S+ +reconcile-absent
$`).MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	f.MarkDead("batches/a")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for _, q := range []ledger.Suspect{
			{ID: "m1", Reason: "malformed", Detail: "no", Body: []byte("{")}, {ID: "m2", Reason: "unknown-type"},
		} {
			if _, err := l.Quarantine.Add(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	paused := []string{"OPLEDGER_EFFECTS_PAUSED=true"}
	s = commandtest.Run(t, paused, "status", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"opledger: an operator is needed: 1 operation with a dead effect; 1 signed request that could not be read\n")
	s.Says(t, "paused by OPLEDGER_EFFECTS_PAUSED", "quarantine    1 unresolved, 2 kept\n")
	s.Complaint(t)
	if !regexp.MustCompile(
		`\nEFFECTS +NEWEST +ERROR\n1 +`+commandtest.LocalPattern+` +the target said no\n`).MatchString(s.Out) ||
		!regexp.MustCompile(`\n1 operation with a dead effect +opledger list --dead --store sqlite:\S+ +effects-dead\n`).
			MatchString(s.Out) {
		t.Errorf("%s", s.Out)
	}
	s = commandtest.Run(t, paused, "status", "--json", "--store", f.Store()).Want(t, terminal.ExitFailed)
	commandtest.WantUTC(t, s.Out)
	var o overview.Overview
	commandtest.OneObject(t, s.Out, &o)
	if o.Pending.N != 1 || o.Pending.Oldest != "operations/b" || o.Dead.N != 1 || len(o.Dead.Errors) != 1 ||
		len(o.Problems) != 2 || o.Unread.N != 2 || o.Unread.Unresolved.N != 1 || !o.Paused {
		t.Errorf("%+v", o)
	}
}

// TestStatusWithoutServe: once something is late, a ledger on which no serve works needs an operator, and one line says
// so with all that is late; while one runs, nothing of it is said, and what is late is asked about.
func TestStatusWithoutServe(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Ago(150*time.Minute, func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Operations.Register(ctx, ledger.Registration{
			Name: operation.Name{Key: "batches/a", Resource: "batches/a"},
		})
		return err
	})
	const none = "no opledger serve runs on this ledger"
	s := commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"an operator is needed: "+none+": nothing is received, looked up or performed; a look-up is due for 2h")
	s.Says(t, "NEEDS AN OPERATOR", "opledger serve --store "+f.Store(), "reconcile-absent")
	serve := commandtest.Serving(t, []string{"OPLEDGER_STORE=" + f.Store()}, "--schedule=false")
	defer serve.Stop()
	s = commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"an operator is needed: a look-up is due for 2h", ": do the scheduled passes run?\n")
	if strings.Contains(s.Out, none) {
		t.Errorf("%s", s.Out)
	}
}

// TestStatusUnread: a ledger that cannot be read is no ledger in which something needs an operator: the
// exit codes differ.
func TestStatusUnread(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Dead("batches/a")
	commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed, "1 operation with a dead effect")
	if err := os.Truncate(f.Path, 1000); err != nil { // in its middle
		t.Fatal(err)
	}
	for _, path := range []string{f.Path, filepath.Join(t.TempDir(), "none.db")} {
		for _, args := range [][]string{{"status"}, {"wait", "batches/a"}, {"list"}, {"show", "batches/a"}} {
			s := commandtest.Run(t, nil, append(args, "--store", "sqlite:"+path)...).Want(t, terminal.ExitUnread, path)
			s.Complaint(t)
		}
	}
}

// TestStatusOfMany: what is pending for too long is told among all that is pending, however many are
// looked up before it, in one line with what Gemini does not know; list --late lists it by age [R4].
func TestStatusOfMany(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	late := []string{"operations/late-33h", "operations/late-30h", "operations/late-20h"}
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for i, ago := range []time.Duration{33 * time.Hour, 30 * time.Hour, 20 * time.Hour} {
			name := operation.Name{Key: operation.Key(late[i]), Resource: "models/veo/" + late[i]}
			r := ledger.Registration{Name: name, SubmittedAt: time.Now().Add(-ago)}
			if _, err := l.Operations.Register(ctx, r); err != nil {
				return err
			}
		}
		now, err := l.Now(ctx)
		if err != nil {
			return err
		}
		due, err := l.Operations.Due(ctx, now, ledger.Cursor{}, 10)
		for _, d := range due.Items { // they are looked up after all others
			if _, err := l.Passes.ClaimLookUp(ctx, d, now); err != nil {
				return err
			}
		}
		return err
	})
	var young []string
	for i := range 110 {
		young = append(young, fmt.Sprint("batches/young", i))
	}
	f.Register(young...)
	s := commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"an operator is needed: 3 operations pending for too long, the oldest for 1d09h\n")
	s.Says(t, "113, 3 of them for too long, the oldest for 1d09h: operations/late-33h", "opledger list --late")
	s = commandtest.Run(t, nil, "list", "--late", "--store", f.Store()).Want(t, terminal.ExitDone)
	var listed []string
	for _, line := range strings.Split(strings.TrimSpace(s.Out), "\n")[1:] {
		listed = append(listed, strings.Fields(line)[0])
	}
	if !slices.Equal(listed, late) {
		t.Errorf("%q: %s", listed, s.Out)
	}
}

// TestStatusOfUnregistered: an event of an operation that no submitter registers is counted and listed,
// and needs an operator after an hour, until one resolves it. So does a body that cannot be read [W5,
// W6].
func TestStatusOfUnregistered(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Ago(2*time.Hour, func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Operations.Ingest(ctx, operation.Event{
			Name: operation.Name{Key: "batches/theirs", Resource: "batches/theirs"}, DeliveryID: "msg_1",
			Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
		})
		if err == nil {
			_, err = l.Quarantine.Add(ctx, ledger.Suspect{ID: "msg_2", Reason: "malformed", Body: []byte("{")})
		}
		return err
	})
	f.Settle("batches/new", operation.Succeeded, operation.Result{}) // its submitter may be about to register it
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	s := commandtest.Run(t, variables, "status").Want(t, terminal.ExitFailed,
		"an operator is needed: 1 operation that an event reported, "+
			"and that is not registered: no effect runs; 1 signed request that could not be read\n")
	s.Says(t, "unregistered  2, the newest ", ": batches/new\n", "opledger list --unregistered",
		"opledger quarantine list --unresolved")
	commandtest.Run(t, variables, "list", "--unregistered").Want(t, terminal.ExitDone).Says(t, "batches/theirs",
		"batches/new")
	commandtest.Run(t, variables, "show", "batches/theirs").Want(t, terminal.ExitDone).Says(t, "  not registered ",
		"no effect of it runs")
	commandtest.Run(t, variables, "resolve", "theirs", "--reason", "another team's", "--by", "kim").Want(t,
		terminal.ExitDone).Says(t,
		"batches/theirs, which is not registered, resolved by kim at ", ": another team's\n")
	commandtest.Run(t, variables, "quarantine", "resolve", "msg_2", "--reason", "a test", "--by", "kim").Want(t,
		terminal.ExitDone).Says(t,
		"the delivery msg_2 resolved by kim at ", ": a test\n")
	commandtest.Run(t, variables, "quarantine", "resolve", "msg_9", "--reason", "r").Want(t, terminal.ExitFailed,
		"opledger quarantine list").Complaint(t)
	commandtest.Run(t, variables, "status").Want(t, terminal.ExitDone).Says(t, "nothing needs an operator",
		"quarantine    0 unresolved, 1 kept\n")
	if s := commandtest.Run(t, variables, "list", "--unregistered").Want(t, terminal.ExitDone); strings.Contains(s.Out,
		"theirs") {
		t.Error(s.Out)
	}
	commandtest.Run(t, variables, "show", "batches/theirs").Want(t, terminal.ExitDone).Says(t, "resolved ",
		" by kim: another team's")
	commandtest.Run(t, variables, "quarantine", "list").Want(t, terminal.ExitDone).Says(t, "resolved by kim")
	commandtest.Run(t, variables, "quarantine", "list", "--unresolved").Want(t, terminal.ExitDone).Says(t, "nothing")
	commandtest.Run(t, variables, "register", "batches/theirs").Want(t, terminal.ExitDone)
	commandtest.Run(t, variables, "resolve", "theirs", "--reason", "r").Want(t, terminal.ExitFailed,
		"no conflict").Complaint(t)
}

// TestStatusOfFailing: an effect that has been failing for an hour needs an operator, and the error is
// said; one that has just begun to fail does not [S4].
func TestStatusOfFailing(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	fails := func(key operation.Key) func(context.Context, *ledger.Ledger) error {
		return func(ctx context.Context, l *ledger.Ledger) error {
			grant, err := l.Effects.Claim(ctx, key, "log")
			if err == nil {
				_, err = l.Effects.Release(ctx, grant.Lease, errors.New("503 from the receiver"), 0)
			}
			return err
		}
	}
	f.With(fails("batches/a"))
	commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitDone).Says(t,
		"1 back off after a failure",
		"1 effect failed at the last attempt, and will be tried again; the last error: 503 from the receiver ")
	f.Ago(2*time.Hour, func(ctx context.Context, l *ledger.Ledger) error {
		name := operation.Name{Key: "batches/b", Resource: "batches/b"}
		_, err := l.Operations.Register(ctx, ledger.Registration{Name: name})
		if err == nil {
			_, err = l.Operations.Ingest(ctx, operation.Event{
				Name: name, DeliveryID: "msg_1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
			})
		}
		return errors.Join(err, fails("batches/b")(ctx, l))
	})
	commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"1 effect failing for 2h00m: 503 from the receiver\n").Says(t, "opledger show batches/b")
}

// TestStatusDeadPartial: where more operations have a dead effect than are read, status says of which the errors are,
// and not another number beside the count.
func TestStatusDeadPartial(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	var names []string
	for i := range 101 {
		names = append(names, fmt.Sprint("batches/", i))
	}
	f.Register(names...)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for _, name := range names {
			key := operation.Key(name)
			_, err := l.Operations.Ingest(ctx, operation.Event{
				Name: operation.Name{Key: key}, DeliveryID: name, Source: operation.Webhook, State: operation.Succeeded,
			})
			if err != nil {
				return err
			}
			grant, err := l.Effects.Claim(ctx, key, "log")
			if err == nil {
				err = l.Effects.MarkDead(ctx, grant.Lease, errors.New("the target said no"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	s := commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, terminal.ExitFailed)
	s.Says(t, "\n101 operations with a dead effect",
		"\nof the newest 100 operations with a dead effect:\nEFFECTS ", "\n100 ")
	if strings.Contains(s.Out, "at least 100") {
		t.Errorf("%s", s.Out)
	}
}

// TestStatusPartial: where a list is longer than what status reads of it, status says so, and counts at least so many.
func TestStatusPartial(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		for i := range 101 {
			intention := ledger.Intention{
				Submission: operation.Submission{CorrelationID: fmt.Sprint("night-", i)}, Collection: operation.Batches,
				Attempt: "a",
			}
			if _, err := l.Intents.Intend(ctx, intention); err != nil {
				return err
			}
		}
		return nil
	})
	run := func(code int, stderr ...string) commandtest.Said {
		return commandtest.Run(t, nil, "status", "--store", f.Store()).Want(t, code, stderr...)
	}
	run(terminal.ExitDone).Says(t, "intents       101: their operation is not known yet\n",
		"\nnothing needs an operator, of what was read: the lists are longer\n")
	f.Dead("batches/a")
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intents.AbandonBy(ctx, "night-0", ledger.Decision{By: "kim", Why: "a test"})
		return err
	})
	run(terminal.ExitFailed, "an operator is needed: 1 operation with a dead effect; there may be more: the lists are "+
		"longer than what was read\n").Says(t, "\nNEEDS AN OPERATOR: AT LEAST 1 ", ", at least 1 abandoned\n")
	var o overview.Overview
	s := commandtest.Run(t, nil, "status", "--json", "--store", f.Store()).Want(t, terminal.ExitFailed)
	commandtest.OneObject(t, s.Out, &o)
	if !o.Partial || !o.Intents.Partial || o.Effects.Partial || o.Dead.Partial || o.Jobs.Partial {
		t.Errorf("%s", s.Out)
	}
}
