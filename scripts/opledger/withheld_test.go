package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestWithheld: effects of what ended longer ago than the retention are not planned, and that is
// said when it is registered, in lists and in its story, with the command that runs one [L3, G5].
func TestWithheld(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.with(func(ctx context.Context, l *ledger.Ledger) error {
		_, err := l.Ingest(ctx, operation.Event{
			Name: operation.Name{Key: "batches/old", Resource: "batches/old"}, DeliveryID: "m1", Source: operation.Webhook,
			State: operation.Succeeded, UpdateTime: time.Now().Add(-15 * 24 * time.Hour),
		})
		return err
	})
	variables := []string{"OPLEDGER_STORE=" + f.store()}
	const command = "opledger replay batches/old --effect "
	cli(t, variables, "register", "batches/old").want(t, exitDone, "1 of its effects are withheld", command)
	if s := cli(t, variables, "list").want(t, exitDone); !strings.Contains(s.out, "log withheld") {
		t.Errorf("%s", s.out)
	}
	if s := cli(t, variables, "show", "batches/old").want(t, exitDone); !strings.Contains(s.out, "\nlog was withheld: ") ||
		!strings.Contains(s.out, command+"log\n") {
		t.Errorf("%s", s.out)
	}
	cli(t, variables, "replay", "batches/old").want(t, exitDone) // as with what was waived, only where it is named
	if n := len(f.effects("batches/old")); n != 0 {
		t.Errorf("%d effects were planned", n)
	}
	cli(t, variables, "replay", "batches/old", "--effect", "log").want(t, exitDone)
	if effect := f.effects("batches/old")["log"]; effect.State != ledger.EffectDone {
		t.Errorf("%+v", effect)
	}
	if s := cli(t, variables, "show", "batches/old").want(t, exitDone); strings.Contains(s.out, "withheld") {
		t.Errorf("%s", s.out)
	}
}
