package operations_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// TestResolveSeveral: resolve ends all conflicts, or all operations that are not registered, or those of
// them that its flags choose; it says how many, and asks [M5, W5].
func TestResolveSeveral(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a", "operations/b")
	for _, key := range []operation.Key{"batches/a", "operations/b"} {
		f.EndTwice(key)
	}
	variables := []string{"OPLEDGER_STORE=" + f.Store()}
	resolve := func(in string, args ...string) commandtest.Said {
		return commandtest.Answer(t, variables, in, append([]string{"resolve", "--reason", "r", "--by", "kim"}, args...)...)
	}
	resolve("n\n", "--conflict").Want(t, terminal.ExitFailed,
		"Resolve 2 conflicts: operations/b, batches/a? [y/N] ", "nothing was resolved")
	resolve("", "--conflict", "--json").Want(t, terminal.ExitUsage,
		"nothing was resolved; with --json no question is asked")
	commandtest.Run(t, variables, "list", "--conflict").Want(t, terminal.ExitDone).Says(t, "batches/a", "operations/b")
	s := resolve("y\n", "--conflict", "--collection", "operations").Want(t, terminal.ExitDone,
		"Resolve 1 conflict: operations/b? [y/N] ")
	if !strings.HasPrefix(s.Out, "the conflict of operations/b, SUCCEEDED and FAILED, resolved by kim at ") ||
		!strings.HasSuffix(s.Out, "resolved 1 of 1\n") {
		t.Errorf("%q", s.Out)
	}
	var told struct {
		Resolved []struct {
			Operation operation.Key
			Recorded  bool
		}
	}
	commandtest.OneObject(t, resolve("", "--conflict", "--yes", "--json").Want(t, terminal.ExitDone).Out, &told)
	if len(told.Resolved) != 1 || told.Resolved[0].Operation != "batches/a" || !told.Resolved[0].Recorded {
		t.Errorf("%+v", told)
	}
	if s := resolve("", "--conflict").Want(t, terminal.ExitDone); s.Out !=
		"nothing to resolve: no selected operation ended in two ways\n" {
		t.Errorf("%q", s.Out)
	}

	ends := func(id string, state operation.State, keys ...operation.Key) func(context.Context, *ledger.Ledger) error {
		return func(ctx context.Context, l *ledger.Ledger) error {
			var errs []error
			for _, key := range keys {
				_, err := l.Operations.Ingest(ctx,
					operation.Event{Name: operation.Name{Key: key, Resource: string(key)}, DeliveryID: id,
						Source: operation.Webhook, State: state})
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		}
	}
	f.Ago(48*time.Hour, ends("m", operation.Succeeded, "batches/x", "batches/y"))
	f.Ago(47*time.Hour, ends("n", operation.Failed, "batches/y"))               // the question is not about its two ends
	f.Ago(time.Minute, ends("m", operation.Succeeded, "batches/being-started")) // its registration may still come
	unregistered := func() string {
		return commandtest.Run(t, variables, "list", "--unregistered").Want(t, terminal.ExitDone).Out
	}
	if !strings.Contains(unregistered(), "batches/x") {
		t.Fatal(unregistered())
	}
	resolve("y\n", "--unregistered").Want(t, terminal.ExitDone, "Resolve 2 unregistered operations: ").
		Says(t, "batches/x, which is not registered, resolved by kim", "resolved 2 of 2\n")
	if out := unregistered(); !strings.Contains(out, "batches/being-started") || strings.Count(out, "batches/") != 1 {
		t.Error(out)
	}
	resolve("", "--unregistered").Want(t, terminal.ExitDone).Says(t, "nothing to resolve: of 1 operation that may still "+
		"be registered, the first is due at ", ": a submitter may take 1h00m; name one to resolve it at once")
	resolve("", "--unregistered", "--collection", "operations").Want(t, terminal.ExitDone).Says(t,
		"nothing to resolve: every selected operation is registered")
	commandtest.Run(t, variables, "list", "--conflict").Want(t, terminal.ExitDone).Says(t, "batches/y")
	for _, args := range [][]string{
		{}, {"batches/a", "--conflict"}, {"--state", "FAILED"}, {"--conflict", "--unregistered"},
	} {
		resolve("", args...).Want(t, terminal.ExitUsage, "--conflict").Complaint(t)
	}
}
