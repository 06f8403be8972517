package operations_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestForget: forget lists what is recorded, and asks. It deletes everything, and asks nothing
// about an unknown operation.
func TestForget(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "batches/b")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	ask := func(answer string, args ...string) commandtest.Said {
		var out, err bytes.Buffer
		code := root.Run(t.Context(), args, terminal.Environment{
			Variables: []string{"OPLEDGER_STORE=" + f.Store()}, In: strings.NewReader(answer), Out: &out, Err: &err,
		})
		return commandtest.Said{Code: code, Out: out.String(), Err: err.String()}
	}
	for _, no := range []string{"", "\n", "n\n", "yes please\n", "no\nyes\n"} {
		s := ask(no, "forget", "batches/a").Want(t, terminal.ExitFailed,
			"batches/a: SUCCEEDED; deliveries: 1; effects: log PENDING. Delete all of it permanently? [y/N] ",
			"nothing was deleted")
		if s.Out != "" {
			t.Errorf("%q", s.Out)
		}
	}
	if s := ask("Y\n", "forget", "batches/a").Want(t,
		terminal.ExitDone); s.Out != "batches/a forgotten: 3 documents deleted\n" {
		t.Errorf("%q", s.Out)
	}
	s := ask("", "forget", "b", "--yes").Want(t, terminal.ExitDone)
	if s.Out != "batches/b forgotten: 1 document deleted\n" || strings.Contains(s.Err, "[y/N]") {
		t.Errorf("%+v", s)
	}
	if s := ask("y\n", "forget", "batches/a").Want(t, terminal.ExitFailed, "opledger list"); strings.Contains(s.Err,
		"[y/N]") {
		t.Errorf("it asks about what is not there: %s", s.Err)
	}
	if s := ask("", "list"); s.Out != "no operations\n" {
		t.Errorf("%q", s.Out)
	}
}

// TestForgetUnreadable: documents that cannot be read are deleted, too [L3].
func TestForgetUnreadable(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	store, err := sqlite.Open(t.Context(), f.Path, time.Now)
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
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	commandtest.Answer(t, variables, "n\n", "forget", "batches/a").Want(t, terminal.ExitFailed,
		"batches/a: PENDING; deliveries: 0; ",
		"unreadable: ", "msg_1", "nothing was deleted")
	if s := commandtest.Answer(t, variables, "y\n", "forget", "batches/a").Want(t,
		terminal.ExitDone); s.Out != "batches/a forgotten: 2 documents deleted\n" {
		t.Errorf("%q", s.Out)
	}
}

// TestForgetHeld: an effect that is being run is not deleted [S7].
func TestForgetHeld(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	f.Settle("batches/a", operation.Succeeded, operation.Result{})
	f.With(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Effects.Claim(ctx, "batches/a", "log")
		return err
	})
	commandtest.Run(t, nil, "forget", "batches/a", "--yes", "--store", f.Store()).Want(t, terminal.ExitFailed,
		"an effect is being run",
		"log").Complaint(t)
	commandtest.WantEffect(t, f, "batches/a", ledger.EffectClaimed)
}
