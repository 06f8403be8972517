package overview_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

// ended returns what an older revision has left: it ended, reopened, abandoned or ingested what needed
// an operator, and kept the fields by which that is found [L5].
func ended(at time.Time) []ledger.Write {
	effect := ledger.Effect{
		Schema: 1, Version: 1, Operation: "batches/reopened", Name: "publish", State: ledger.EffectPending, CreatedAt: at,
		FailingSince: at,
	}
	abandoned := operation.Record{
		Schema: 1, Version: 1, Key: "batches/abandoned", Collection: operation.Batches, State: operation.Running,
		Registered: true, CreatedAt: at, SubmittedAt: at, LateAt: at,
	}
	applied := operation.Record{
		Schema: 1, Version: 1, Key: "batches/applied", Collection: operation.Batches, State: operation.Failed,
		Registered: true, CreatedAt: at, SettledAt: at, ConflictAt: at, ConflictState: operation.Failed,
	}
	body := ledger.Quarantined{
		Schema: 1, ID: "ingested", Reason: "malformed", ReceivedAt: at, Outcome: ledger.Applied, UnresolvedAt: at,
	}
	return []ledger.Write{
		{Path: ledger.EffectPath(effect.Operation, effect.Name), Data: effect},
		{Path: ledger.OperationPath(abandoned.Key), Data: abandoned},
		{Path: ledger.OperationPath(applied.Key), Data: applied},
		{Path: "quarantine/ingested", Data: body},
	}
}

// TestReadLeavesOutWhatEnded: what an older revision has ended is no problem, and hides none [L5].
func TestReadLeavesOutWhatEnded(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	problems := func() (words []string) {
		o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: 5 * time.Minute, Most: 4})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range o.Problems {
			words = append(words, p.Words+" | "+p.Command)
		}
		return words
	}
	at := time.Now().Add(-48 * time.Hour)
	if _, err := store.Commit(t.Context(), ended(at)...); err != nil {
		t.Fatal(err)
	}
	if words := problems(); len(words) != 0 {
		t.Errorf("%q", words)
	}
	since := time.Now().Add(-2*time.Hour - time.Minute)
	fails := ledger.Effect{
		Schema: 1, Version: 1, Operation: "batches/fails", Name: "publish", State: ledger.EffectPending, CreatedAt: at,
		Failing: &ledger.Failing{Since: since, Last: since, Times: 1}, FailingSince: since, LastError: "503",
	}
	path := ledger.EffectPath(fails.Operation, fails.Name)
	if _, err := store.Commit(t.Context(), ledger.Write{Path: path, Data: fails}); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 effect failing for 2h01m: 503 | opledger show batches/fails"}
	if words := problems(); fmt.Sprint(words) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", words, want)
	}
}
