package main

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
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestStatus: what there is, and exit code 1 with the reason only if something needs an operator.
func TestStatus(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "operations/b")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	s := cli(t, nil, "status", "--store", f.store()).want(t, exitDone)
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
$`).MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	f.markDead("batches/a")
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for _, q := range []ledger.Suspect{
			{ID: "m1", Reason: "malformed", Detail: "no", Body: []byte("{")}, {ID: "m2", Reason: "unknown-type"},
		} {
			if _, err := l.Quarantine(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	paused := []string{"OPLEDGER_EFFECTS_PAUSED=true"}
	s = cli(t, paused, "status", "--store", f.store()).want(t, exitFailed,
		"opledger: an operator is needed: 1 operation with a dead effect; 1 signed request that could not be read\n")
	s.says(t, "paused by OPLEDGER_EFFECTS_PAUSED", "quarantine    2\n")
	s.complaint(t)
	if !regexp.MustCompile(`\nEFFECTS +NEWEST +ERROR\n1 +`+localPattern+` +the target said no\n`).MatchString(s.out) ||
		!regexp.MustCompile(`\n1 operation with a dead effect +opledger list --dead\n`).MatchString(s.out) {
		t.Errorf("%s", s.out)
	}
	s = cli(t, paused, "status", "--json", "--store", f.store()).want(t, exitFailed)
	wantUTC(t, s.out)
	var o overview.Overview
	oneObject(t, s.out, &o)
	if o.Pending.N != 1 || o.Pending.Oldest != "operations/b" || o.Dead.N != 1 || len(o.Dead.Errors) != 1 ||
		len(o.Problems) != 2 || o.Unread.N != 2 || o.Unread.Unresolved.N != 1 || !o.Paused {
		t.Errorf("%+v", o)
	}
}

// TestStatusUnread: a ledger that cannot be read is no ledger in which something needs an operator: the
// exit codes differ.
func TestStatusUnread(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.dead("batches/a")
	cli(t, nil, "status", "--store", f.store()).want(t, exitFailed, "1 operation with a dead effect")
	if err := os.Truncate(f.path, 1000); err != nil { // in its middle
		t.Fatal(err)
	}
	for _, path := range []string{f.path, filepath.Join(t.TempDir(), "none.db")} {
		for _, args := range [][]string{{"status"}, {"wait", "batches/a"}, {"list"}, {"show", "batches/a"}} {
			s := cli(t, nil, append(args, "--store", "sqlite:"+path)...).want(t, exitUnread, path)
			s.complaint(t)
		}
	}
}

// TestStatusOfMany: what is pending for too long is told among all that is pending, however many are
// looked up before it, in one line with what Gemini does not know; list --late lists it by age [R4].
func TestStatusOfMany(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	late := []string{"operations/late-33h", "operations/late-30h", "operations/late-20h"}
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for i, ago := range []time.Duration{33 * time.Hour, 30 * time.Hour, 20 * time.Hour} {
			name := operation.Name{Key: operation.Key(late[i]), Resource: "models/veo/" + late[i]}
			r := ledger.Registration{Name: name, SubmittedAt: time.Now().Add(-ago)}
			if _, err := l.Register(ctx, r); err != nil {
				return err
			}
		}
		now, err := l.Now(ctx)
		if err != nil {
			return err
		}
		due, err := l.DueOperations(ctx, now, ledger.Cursor{}, 10)
		for _, d := range due.Items { // they are looked up after all others
			if _, err := l.ClaimLookUp(ctx, d, now); err != nil {
				return err
			}
		}
		return err
	})
	var young []string
	for i := range 110 {
		young = append(young, fmt.Sprint("batches/young", i))
	}
	f.register(young...)
	s := cli(t, nil, "status", "--store", f.store()).want(t, exitFailed,
		"an operator is needed: 3 operations pending for too long, the oldest for 1d09h\n")
	s.says(t, "113, 3 of them for too long, the oldest for 1d09h: operations/late-33h", "opledger list --late")
	s = cli(t, nil, "list", "--late", "--store", f.store()).want(t, exitDone)
	var listed []string
	for _, line := range strings.Split(strings.TrimSpace(s.out), "\n")[1:] {
		listed = append(listed, strings.Fields(line)[0])
	}
	if !slices.Equal(listed, late) {
		t.Errorf("%q: %s", listed, s.out)
	}
}

// TestStatusOfUnregistered: an event of an operation that no submitter registers is counted and listed,
// and needs an operator after an hour, until one resolves it. So does a body that cannot be read [W5,
// W6].
func TestStatusOfUnregistered(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.ago(2*time.Hour, func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Ingest(ctx, operation.Event{
			Name: operation.Name{Key: "batches/theirs", Resource: "batches/theirs"}, DeliveryID: "msg_1",
			Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
		})
		if err == nil {
			_, err = l.Quarantine(ctx, ledger.Suspect{ID: "msg_2", Reason: "malformed", Body: []byte("{")})
		}
		return err
	})
	f.settle("batches/new", operation.Succeeded, operation.Result{}) // its submitter may be about to register it
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	s := cli(t, variables, "status").want(t, exitFailed, "an operator is needed: 1 operation that an event reported, "+
		"and that is not registered: no effect runs; 1 signed request that could not be read\n")
	s.says(t, "unregistered  2, the newest ", ": batches/new\n", "opledger list --unregistered",
		"opledger quarantine list --unresolved")
	cli(t, variables, "list", "--unregistered").want(t, exitDone).says(t, "batches/theirs", "batches/new")
	cli(t, variables, "show", "batches/theirs").want(t, exitDone).says(t, "  not registered ", "no effect of it runs")
	cli(t, variables, "resolve", "theirs", "--reason", "another team's", "--by", "kim").want(t, exitDone).says(t,
		"batches/theirs, which is not registered, resolved by kim at ", ": another team's\n")
	cli(t, variables, "quarantine", "resolve", "msg_2", "--reason", "a test", "--by", "kim").want(t, exitDone).says(t,
		"the delivery msg_2 resolved by kim at ", ": a test\n")
	cli(t, variables, "quarantine", "resolve", "msg_9", "--reason", "r").want(t, exitFailed,
		"opledger quarantine list").complaint(t)
	cli(t, variables, "status").want(t, exitDone).says(t, "nothing needs an operator", "quarantine    1\n")
	if s := cli(t, variables, "list", "--unregistered").want(t, exitDone); strings.Contains(s.out, "theirs") {
		t.Error(s.out)
	}
	cli(t, variables, "show", "batches/theirs").want(t, exitDone).says(t, "resolved ", " by kim: another team's")
	cli(t, variables, "quarantine", "list").want(t, exitDone).says(t, "resolved by kim")
	cli(t, variables, "quarantine", "list", "--unresolved").want(t, exitDone).says(t, "nothing")
	cli(t, variables, "register", "batches/theirs").want(t, exitDone)
	cli(t, variables, "resolve", "theirs", "--reason", "r").want(t, exitFailed, "no other end").complaint(t)
}

// TestStatusOfFailing: an effect that has been failing for an hour needs an operator, and the error is
// said; one that has just begun to fail does not [S4].
func TestStatusOfFailing(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	fails := func(key operation.Key) func(context.Context, *ledger.Ledger) error {
		return func(ctx context.Context, l *ledger.Ledger) error {
			grant, err := l.Claim(ctx, key, "log")
			if err == nil {
				_, err = l.Release(ctx, grant.Lease, errors.New("503 from the receiver"), 0)
			}
			return err
		}
	}
	f.with(fails("batches/a"))
	cli(t, nil, "status", "--store", f.store()).want(t, exitDone).says(t, "1 back off after a failure")
	f.ago(2*time.Hour, func(ctx context.Context, l *ledger.Ledger) error {
		name := operation.Name{Key: "batches/b", Resource: "batches/b"}
		_, err := l.Register(ctx, ledger.Registration{Name: name})
		if err == nil {
			_, err = l.Ingest(ctx, operation.Event{
				Name: name, DeliveryID: "msg_1", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
			})
		}
		return errors.Join(err, fails("batches/b")(ctx, l))
	})
	cli(t, nil, "status", "--store", f.store()).want(t, exitFailed,
		"1 effect failing for 2h00m: 503 from the receiver\n").says(t, "opledger show batches/b")
}
