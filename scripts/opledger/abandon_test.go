package main

import (
	"bytes"
	"context"
	"errors"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// TestAbandon: the waiting ends, with who and why, of two the first; the lists say so [R4].
func TestAbandon(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/b")
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ reason, begins, ends string }{
		{"submitted \x1b[31mtwice", "batches/a abandoned by ", ": submitted  [31mtwice\n"},
		{"submitted \x1b[31mtwice", "batches/a abandoned by ", ": submitted  [31mtwice\n"},
		{"another", "batches/a already abandoned by ", ": submitted  [31mtwice; yours was not recorded\n"},
	} {
		s := cli(t, variables, "abandon", "a", "--reason", c.reason).want(t, exitDone)
		if !strings.HasPrefix(s.out, c.begins+me.Username+" at ") || !strings.HasSuffix(s.out, c.ends) {
			t.Errorf("%q", s.out)
		}
	}
	cli(t, variables, "list").want(t, exitDone).says(t, "PENDING (abandoned)")
	s := cli(t, variables, "list", "--pending").want(t, exitDone).says(t, "batches/b")
	if strings.Contains(s.out, "batches/a") {
		t.Errorf("%s", s.out)
	}
	cli(t, variables, "show", "batches/a").want(t, exitDone).says(t, "  abandoned ",
		" by "+me.Username+": submitted  [31mtwice\n")
	cli(t, variables, "abandon", "batches/b", "--reason", "r", "--by", "kim").want(t, exitDone).says(t, " by kim at ")

	f.register("batches/ended")
	f.settle("batches/ended", operation.Failed, operation.Result{})
	f.settle("batches/stranger", operation.Running, operation.Result{})
	cli(t, variables, "abandon", "batches/ended", "--reason", "r").want(t, exitFailed, "has ended already",
		"FAILED").complaint(t)
	cli(t, variables, "abandon", "batches/stranger", "--reason", "r").want(t, exitFailed, "nobody registered").complaint(t)
	cli(t, variables, "abandon", "batches/none", "--reason", "r").want(t, exitFailed, "opledger list").complaint(t)
}

// TestWaive: a dead effect is waived, one that may still run is not [S2].
func TestWaive(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	waive := []string{"abandon", "batches/a", "--effect", "log", "--reason", "done by hand", "--by", "kim"}
	cli(t, variables, waive...).want(t, exitFailed, "not dead", "PENDING").complaint(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		grant, err := l.Claim(ctx, "batches/a", "log")
		if err == nil {
			err = l.MarkDead(ctx, grant.Lease, errors.New("no"))
		}
		return err
	})
	for range 2 {
		cli(t, variables, waive...).want(t, exitDone).says(t, "effect log of batches/a abandoned by kim at ",
			": done by hand\n")
	}
	cli(t, variables, "list").want(t, exitDone).says(t, "log waived")
	cli(t, variables, "show", "batches/a").want(t, exitDone).says(t, "DEAD (waived)", "\nlog waived ",
		"by kim: done by hand\n")
	cli(t, variables, "abandon", "batches/a", "--effect", "none", "--reason", "r").want(t, exitFailed,
		`has no effect "none"`, "opledger show batches/a").complaint(t)
}

// TestForget: it looks, says what there is, and asks; what is deleted is gone, and of what is not
// there nothing is asked.
func TestForget(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "batches/b")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	ask := func(answer string, args ...string) said {
		var out, err bytes.Buffer
		code := run(t.Context(), args, environment{
			variables: []string{"OPLEDGER_STORE=" + f.store()}, in: strings.NewReader(answer), out: &out, err: &err,
		})
		return said{code, out.String(), err.String()}
	}
	for _, no := range []string{"", "\n", "n\n", "yes please\n", "no\nyes\n"} {
		s := ask(no, "forget", "batches/a").want(t, exitFailed,
			"batches/a: SUCCEEDED; deliveries: 1; effects: log PENDING. Delete all of it permanently? [y/N] ",
			"nothing was deleted")
		if s.out != "" {
			t.Errorf("%q", s.out)
		}
	}
	if s := ask("Y\n", "forget", "batches/a").want(t, exitDone); s.out != "batches/a forgotten: 3 documents deleted\n" {
		t.Errorf("%q", s.out)
	}
	s := ask("", "forget", "b", "--yes").want(t, exitDone)
	if s.out != "batches/b forgotten: 1 document deleted\n" || strings.Contains(s.err, "[y/N]") {
		t.Errorf("%+v", s)
	}
	if s := ask("y\n", "forget", "batches/a").want(t, exitFailed, "opledger list"); strings.Contains(s.err, "[y/N]") {
		t.Errorf("it asks about what is not there: %s", s.err)
	}
	if s := ask("", "list"); s.out != "no operations\n" {
		t.Errorf("%q", s.out)
	}
}

// TestForgetUnreadable: what cannot be read is deleted all the same [L3].
func TestForgetUnreadable(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	store, err := sqlite.Open(t.Context(), f.path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	path := ledger.OperationPath("batches/a").Child(ledger.DeliveriesCollection, "msg_1")
	err = store.Commit(t.Context(), ledger.Write{Path: path, Data: struct {
		ReceivedAt time.Time `json:"receivedAt"`
		State      int       `json:"state"`
	}{time.Now(), 5}})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	answer(t, variables, "n\n", "forget", "batches/a").want(t, exitFailed, "batches/a: PENDING; deliveries: 0; ",
		"unreadable: ", "msg_1", "nothing was deleted")
	if s := answer(t, variables, "y\n", "forget", "batches/a").want(t,
		exitDone); s.out != "batches/a forgotten: 2 documents deleted\n" {
		t.Errorf("%q", s.out)
	}
}

// TestForgetIntent: an intent that no operation has is deleted by its correlation id; one that an
// operation has goes with it [G6].
func TestForgetIntent(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Intend(ctx, ledger.Intention{CorrelationID: "night 1"})
		name := operation.Name{Key: "batches/a", Resource: "batches/a"}
		_, registerErr := l.Register(ctx, ledger.Registration{Name: name, CorrelationID: "night-2"})
		return errors.Join(err, registerErr)
	})
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	s := answer(t, variables, "n\n", "forget", "--intent", "night 1")
	s.want(t, exitFailed,
		"The intent night 1: OPEN; a job that was submitted with it stays unregistered. Delete it permanently? [y/N] ",
		"nothing was deleted")
	if s := answer(t, variables, "y\n", "forget", "--intent", "night 1").want(t,
		exitDone); s.out != "the intent night 1 forgotten\n" {
		t.Errorf("%q", s.out)
	}
	if s := answer(t, variables, "y\n", "forget", "--intent", "night 1").want(t, exitFailed,
		"no such intent"); strings.Contains(s.err, "[y/N]") {
		t.Errorf("it asks about what is not there: %s", s.err)
	}
	for _, yes := range []string{"--yes", "--yes=false"} {
		cli(t, variables, "forget", "--intent", "night-2", yes).want(t, exitFailed, "belongs to an operation",
			"forget batches/a").complaint(t)
	}
	answer(t, variables, "y\n", "forget", "batches/a").want(t, exitDone, "intent: night-2")
	cli(t, variables, "show", "--intent", "night-2").want(t, exitFailed, "no such intent")
}

// TestForgetHeld: an effect that is being run is not deleted [S7].
func TestForgetHeld(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	f.settle("batches/a", operation.Succeeded, operation.Result{})
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Claim(ctx, "batches/a", "log")
		return err
	})
	cli(t, nil, "forget", "batches/a", "--yes", "--store", f.store()).want(t, exitFailed, "an effect is being run",
		"log").complaint(t)
	wantEffect(t, f, "batches/a", ledger.EffectClaimed)
}
