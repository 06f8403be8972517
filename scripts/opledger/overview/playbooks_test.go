package overview

import (
	"slices"
	"testing"
	"time"

	texts "github.com/opledger/opledger/infra/playbooks"
	"github.com/opledger/opledger/shared/ledger"
)

// TestPlaybooks: what a problem is about has a playbook that there is.
func TestPlaybooks(t *testing.T) {
	t.Parallel()
	for about, name := range playbooks {
		if _, err := texts.Read(name); err != nil {
			t.Errorf("%s: %v", about, err)
		}
	}
	for _, name := range []string{"missing", "ledger-errors", "reconcile-errors", "refused", "wrong-secret"} {
		if _, err := texts.Read(name); err != nil {
			t.Error(err)
		}
	}
}

// TestCommandsAreWhole: a suggested command names the ledger that was read, but for one that reads none.
func TestCommandsAreWhole(t *testing.T) {
	t.Parallel()
	o := Overview{Dead: Dead{Total: ledger.Total{N: 1}}, LastPass: ledger.Pass{
		Outcome: ledger.PassErrors, Webhook: ledger.WebhookDisabled, Ended: time.Unix(1, 0),
	}, At: time.Unix(2, 0)}
	o.judge(Options{Interval: time.Hour, StoreFlag: " --store sqlite:demo.db"})
	var got []string
	for _, p := range o.Problems {
		got = append(got, p.Command+" "+p.Playbook)
	}
	want := []string{
		"opledger list --dead --store sqlite:demo.db effects-dead",
		"opledger reconcile --store sqlite:demo.db reconcile-errors",
		"opledger webhook check webhook-disabled",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
