package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestResolveSeveral: resolve ends all conflicts, or all operations that are not registered, or those of
// them that its flags choose; it says how many, and asks [M5, W5].
func TestResolveSeveral(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a", "operations/b")
	for _, key := range []operation.Key{"batches/a", "operations/b"} {
		f.endTwice(key)
	}
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	resolve := func(in string, args ...string) said {
		return answer(t, variables, in, append([]string{"resolve", "--reason", "r", "--by", "kim"}, args...)...)
	}
	resolve("n\n", "--conflict").want(t, exitFailed, "Resolve 2 conflicts? [y/N] ", "nothing was resolved")
	resolve("", "--conflict", "--json").want(t, exitUsage, "nothing was resolved; with --json no question is asked")
	cli(t, variables, "list", "--conflict").want(t, exitDone).says(t, "batches/a", "operations/b")
	s := resolve("y\n", "--conflict", "--collection", "operations").want(t, exitDone, "Resolve 1 conflict? [y/N] ")
	if !strings.HasPrefix(s.out, "the two ends of operations/b, SUCCEEDED and FAILED, resolved by kim at ") ||
		!strings.HasSuffix(s.out, "resolved 1 of 1\n") {
		t.Errorf("%q", s.out)
	}
	var told struct{ Resolved []resolvedJSON }
	oneObject(t, resolve("", "--conflict", "--yes", "--json").want(t, exitDone).out, &told)
	if len(told.Resolved) != 1 || told.Resolved[0].Operation != "batches/a" || !told.Resolved[0].Recorded {
		t.Errorf("%+v", told)
	}
	if s := resolve("", "--conflict").want(t, exitDone); s.out != "resolved 0 of 0\n" {
		t.Errorf("%q", s.out)
	}

	f.ago(48*time.Hour, func(ctx context.Context, l *ledger.Ledger) error {
		var errs []error
		for _, key := range []operation.Key{"batches/x", "batches/y"} {
			_, err := l.Ingest(ctx, operation.Event{Name: operation.Name{Key: key, Resource: string(key)}, DeliveryID: "m",
				Source: operation.Webhook, State: operation.Succeeded})
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	unregistered := func() string {
		return cli(t, variables, "list", "--unregistered").want(t, exitDone).out
	}
	if !strings.Contains(unregistered(), "batches/x") {
		t.Fatal(unregistered())
	}
	resolve("y\n", "--unregistered").want(t, exitDone, "Resolve 2 unregistered operations? [y/N] ").
		says(t, "batches/x, which is not registered, resolved by kim", "resolved 2 of 2\n")
	if out := unregistered(); strings.Contains(out, "batches/") {
		t.Error(out)
	}
	for _, args := range [][]string{
		{}, {"batches/a", "--conflict"}, {"--state", "FAILED"}, {"--conflict", "--unregistered"},
	} {
		resolve("", args...).want(t, exitUsage, "--conflict").complaint(t)
	}
}

// TestResolveAllQuarantined: all deliveries in quarantine that need an operator are resolved at once, or
// those that are kept for one reason [W6].
func TestResolveAllQuarantined(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		for id, reason := range map[string]string{"m1": "malformed", "m2": "malformed", "m3": "refused-by-store"} {
			if _, err := l.Quarantine(ctx, ledger.Suspect{ID: id, Reason: reason, Body: []byte("{}")}); err != nil {
				return err
			}
		}
		return nil
	})
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	resolve := func(in string, args ...string) said {
		return answer(t, variables, in, append([]string{"quarantine", "resolve", "--reason", "r", "--by", "kim"}, args...)...)
	}
	resolve("n\n", "--unresolved").want(t, exitFailed, "Resolve 3 quarantined deliveries? [y/N] ", "nothing was resolved")
	resolve("y\n", "--unresolved", "--kept-for", "malformed").
		want(t, exitDone, "Resolve 2 quarantined deliveries? [y/N] ").
		says(t, "the delivery m1 resolved by kim", "resolved 2 of 2\n")
	resolve("", "--unresolved", "--yes").want(t, exitDone).
		says(t, "the delivery m3 resolved by kim", "resolved 1 of 1\n")
	cli(t, variables, "quarantine", "list", "--unresolved").want(t, exitDone).says(t, "nothing is in quarantine")
	for _, args := range [][]string{{}, {"m1", "--unresolved"}, {"--kept-for", "malformed"}} {
		resolve("", args...).want(t, exitUsage, "--unresolved").complaint(t)
	}
}
