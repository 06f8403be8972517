package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// TestYearOnDisk: the file of a ledger that is used every day grows for twice the retention, and then no more. The
// short form watches it for 120 days, and for 90 outside of the gate.
func TestYearOnDisk(t *testing.T) {
	t.Parallel()
	number := harness.Soak(t, 120, 365, 365)
	if !harness.Thorough(t) {
		number = 90
	}
	of, _ := days(t, number, 2)
	settled, later := slices.Max(of[28:60]), slices.Max(of[60:])
	if later > settled+settled/20 || later < settled/2 {
		t.Errorf("L3: the file and its log have %d bytes in days 29 to 60, and %d later", settled, later)
	}
}

// BenchmarkYearOnDisk says how large the file gets, its log included, and how much of it an operation of each day
// is, and each that is kept.
func BenchmarkYearOnDisk(b *testing.B) {
	const few, many = 10, 100
	least, _ := days(b, 365, few)
	most, backup := days(b, 365, many)
	b.ReportMetric(float64(slices.Max(most))/1e6, "MB")
	b.ReportMetric(float64(backup)/1e6, "MB-backup")
	b.ReportMetric(float64(slices.Max(most)-slices.Max(least))/(many-few)/1e3, "kB/daily-operation")
}

// days returns how many bytes the file of a ledger and its log have at the end of each of so many days, and a backup
// at their end. Each day has so many operations: an intent, a registration, a delivery that ends it, an effect that is
// done. What has expired is deleted every night.
func days(t testing.TB, number, operations int) (sizes []int64, backup int64) {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	store, err := sqlite.Open(ctx, path, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for day := range number {
		for n := range operations {
			if err := live(ctx, l, fmt.Sprintf("%03d-%04d", day, n), now); err != nil {
				t.Fatal(err)
			}
		}
		now = now.AddDate(0, 0, 1)
		if _, err := store.Expire(ctx); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, size(t, path)+size(t, path+"-wal"))
	}
	copied := filepath.Join(dir, "backup.db")
	if err := store.Backup(ctx, copied); err != nil {
		t.Fatal(err)
	}
	return sizes, size(t, copied)
}

// live is the life of an operation, from its intent to its effect.
func live(ctx context.Context, l *ledger.Ledger, id string, now time.Time) error {
	submission := operation.Submission{
		CorrelationID: "nightly-" + id, JobKind: "reviews",
		Metadata: `{"customer": "acme", "sheet": "reviews of November"}`,
	}
	name, err := operation.ParseName("batches/batch-"+id, "")
	if err != nil {
		return err
	}
	_, err = l.Intents.Intend(ctx, ledger.Intention{Submission: submission, Collection: operation.Batches})
	if err == nil {
		_, err = l.Operations.Register(ctx, ledger.Registration{Name: name, Submission: submission})
	}
	if err == nil {
		_, err = l.Operations.Ingest(ctx, operation.Event{
			Name: name, DeliveryID: "msg_" + id, Source: operation.Webhook, Type: "batch.succeeded", State: operation.Succeeded,
			UpdateTime: now, Result: operation.Result{
				OutputFile: "files/batch-output-" + id, Counts: &operation.Counts{Total: 1000, Succeeded: 1000},
			},
		})
	}
	if err != nil {
		return err
	}
	grant, err := l.Effects.Claim(ctx, name.Key, "publish")
	if err != nil || grant.Verdict != ledger.Claimed {
		return errors.Join(err, fmt.Errorf("the claim of %s: %s", name.Key, grant.Verdict))
	}
	return l.Effects.Finish(ctx, grant.Lease)
}

// size is 0 where there is no file, as there is no log before the first write.
func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
