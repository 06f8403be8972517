package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// TestForget: forget lists what is recorded, and asks. It deletes everything, and asks nothing
// about an unknown operation.
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

// TestForgetUnreadable: documents that cannot be read are deleted, too [L3].
func TestForgetUnreadable(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	store, err := sqlite.Open(t.Context(), f.path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	path := ledger.OperationPath("batches/a").Child(ledger.DeliveriesCollection, "msg_1")
	_, err = store.Commit(t.Context(), ledger.Write{Path: path, Data: struct {
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
