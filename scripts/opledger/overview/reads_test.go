package overview_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
	"github.com/opledger/opledger/test/harness/meter"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// TestReads: what status and the console's Overview read of Firestore, as it bills them, is at most 60
// documents with the newest ends, however much of everything there is.
func TestReads(t *testing.T) {
	t.Parallel()
	var m meter.Meter
	store, err := firestore.Open(t.Context(), harness.ProjectID(t), "",
		dial.Options(harness.Firestore(t), m.Dial()...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range 25 {
		if _, err := store.Commit(t.Context(), troubles(i)...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := store.Commit(t.Context(), endedUnmatched(map[string]time.Time{
		"jobs:a": time.Now(), "jobs:b": time.Now(), "jobs:c": time.Now().Add(-2 * ledger.UnmatchedFor),
	})); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.Collect()
	o, err := overview.Read(t.Context(), l.Reading(), overview.Options{
		Interval: 5 * time.Minute, Most: console.FirestoreMost,
	})
	if err != nil || o.Pending.N != 50 || o.Jobs.N != 25 || o.Dead.N != 25 || o.Conflicts.N != 25 || o.Unread.N != 25 ||
		o.Intents.N != 25 {
		t.Fatalf("%+v, %v", o, err)
	}
	if n := len(o.Jobs.Stopped); n != console.FirestoreMost {
		t.Errorf("%d jobs need an operator: %+v", n, o.Jobs)
	}
	if n := len(o.Jobs.Unmatched); n != 2 {
		t.Errorf("%d jobs ended with unmatched lines: %+v", n, o.Jobs)
	}
	if of := o.Dead.Of(); of != fmt.Sprintf("of the newest %d operations with a dead effect", console.FirestoreMost) {
		t.Errorf("the errors are %s", of)
	}
	if !o.Partial || !o.Effects.Partial || !o.Dead.Partial || !o.Intents.Partial || !o.Jobs.Partial {
		t.Errorf("more than it read, and it does not say so: %+v", o)
	}
	status := m.Collect().Reads
	ends, err := l.Operations.Ends(t.Context(), ledger.Cursor{}, console.FirestoreEnds)
	if err != nil || len(ends.Items) != console.FirestoreEnds {
		t.Fatalf("%d ends, %v", len(ends.Items), err)
	}
	both := status + m.Collect().Reads
	t.Logf("status reads %d, and the Overview %d", status, both)
	if status < 1+5*console.FirestoreMost || both > 60 {
		t.Errorf("status reads %d, and the Overview %d, want 60 at most", status, both)
	}
}

// troubles returns one of each: an operation that ended in two ways with a dead effect, a pending one,
// an open effect, a quarantined body and an intent.
func troubles(i int) []ledger.Write {
	at := time.Now().Add(-time.Duration(i) * time.Minute)
	ended := operation.Record{
		Schema: 1, Version: 1, Key: operation.Key(fmt.Sprint("batches/dead", i)), State: operation.Succeeded,
		Registered: true, CreatedAt: at, SettledAt: at, ConflictAt: at, ConflictState: operation.Failed,
	}
	ended = ended.WithEffect("publish", operation.EffectDead).WithEffect("page", operation.EffectOpen)
	pending := operation.Record{
		Schema: 1, Version: 1, Key: operation.Key(fmt.Sprint("batches/pending", i)), State: operation.Running,
		Registered: true, CreatedAt: at, SubmittedAt: at, DueAt: at,
	}
	dead := ledger.Effect{
		Schema: 1, Version: 1, Operation: ended.Key, Name: "publish", State: ledger.EffectDead, CreatedAt: at, DiedAt: at,
	}
	open := ledger.Effect{
		Schema: 1, Version: 1, Operation: ended.Key, Name: "page", State: ledger.EffectPending, CreatedAt: at, DueAt: at,
	}
	waits := operation.Record{
		Schema: 1, Version: 1, Key: operation.Key(fmt.Sprint("jobs/waits", i)), Collection: operation.Jobs,
		State: operation.Pending, Registered: true, CreatedAt: at, SubmittedAt: at, DueAt: at,
	}
	part := job.Part{
		Schema: 2, Version: 1, Key: operation.PartKey(waits.Key, 1), Number: 1, State: job.Starting,
		Waits: job.WaitsForAccess, WaitsSince: at, CreatedAt: at, WaitingSince: at,
	}
	id := fmt.Sprint("id-", i)
	return []ledger.Write{
		{Path: ledger.OperationPath(waits.Key), Data: waits},
		{Path: ledger.JobPath(waits.Key), Data: job.Job{
			Schema: 2, Version: 1, Key: waits.Key, Phase: job.Running, CreatedAt: at,
		}},
		{Path: ledger.JobPath(waits.Key).Child(ledger.PartsCollection, "00001"), Data: part},
		{Path: ledger.OperationPath(ended.Key), Data: ended}, {Path: ledger.OperationPath(pending.Key), Data: pending},
		{Path: ledger.EffectPath(ended.Key, dead.Name), Data: dead},
		{Path: ledger.EffectPath(ended.Key, open.Name), Data: open},
		{Path: ledger.Path("quarantine/" + id), Data: ledger.Quarantined{Schema: 1, ID: id, Reason: "x", ReceivedAt: at}},
		{Path: ledger.Path("intents/" + id), Data: ledger.Intent{
			Schema: 1, Version: 1, Submission: operation.Submission{CorrelationID: id}, State: ledger.IntentOpen, CreatedAt: at,
			DueAt: at,
		}},
	}
}
