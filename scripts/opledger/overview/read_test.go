package overview_test

import (
	"fmt"
	"path/filepath"
	"strings"
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

// newLedger makes a ledger, with its documents.
func newLedger(t *testing.T) (*sqlite.Store, *ledger.Ledger) {
	t.Helper()
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
	return store, l
}

// TestReadLeavesOutWhatEnded: what an older revision has ended is no problem, and hides none [L5].
func TestReadLeavesOutWhatEnded(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
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

// TestReadSaysOnce: an effect that needs an operator, because it has been failing for an hour, is not among those that
// need none yet. Where such effects fail in several ways, the most frequent error is said, too.
func TestReadSaysOnce(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	at := time.Now()
	for i, fails := range []struct {
		since time.Duration
		why   string
	}{{2 * time.Hour, "503"}, {90 * time.Minute, "410"}, {61 * time.Minute, "410"}, {time.Minute, "late"}} {
		since := at.Add(-fails.since)
		e := ledger.Effect{
			Schema: 1, Version: 1, Operation: operation.Key(fmt.Sprint("batches/", i)), Name: "publish", CreatedAt: since,
			State: ledger.EffectPending, DueAt: at.Add(time.Hour), ClaimableAt: at.Add(time.Hour),
			Failing: &ledger.Failing{Since: since, Last: since, Times: 1}, FailingSince: since, LastError: fails.why,
		}
		path := ledger.EffectPath(e.Operation, e.Name)
		if _, err := store.Commit(t.Context(), ledger.Write{Path: path, Data: e}); err != nil {
			t.Fatal(err)
		}
	}
	o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: 5 * time.Minute, Most: 9})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, section := range o.Sections() {
		for _, p := range section.Problems {
			got = append(got, p.Words+" | "+p.Detail)
		}
	}
	want := []string{
		"3 effects failing for 2h00m: 503 | the last error of 2 of them: 410",
		"1 effect failed at the last attempt, and will be tried again | the last error: late",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) || o.Effects.Failing != 4 {
		t.Errorf("%d fail: %q\nwant 4: %q", o.Effects.Failing, got, want)
	}
}

// TestReadMissing: of an operation that is pending for too long it is said that Gemini does not know it, as the list
// does, also before that was alerted.
func TestReadMissing(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	at := time.Now().Add(-30 * time.Hour)
	for _, missing := range []time.Time{{}, at.Add(29 * time.Hour)} {
		late := operation.Record{
			Schema: 1, Version: 1, Key: operation.Key(fmt.Sprint("batches/", missing.Unix())), Collection: operation.Batches,
			State: operation.Running, Registered: true, CreatedAt: at, SubmittedAt: at, DueAt: time.Now().Add(time.Hour),
			LateAt: at.Add(time.Hour), MissingSince: missing,
		}
		path := ledger.OperationPath(late.Key)
		if _, err := store.Commit(t.Context(), ledger.Write{Path: path, Data: late}); err != nil {
			t.Fatal(err)
		}
	}
	o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: 5 * time.Minute, Most: 9})
	if err != nil {
		t.Fatal(err)
	}
	const want = "2 operations pending for too long, the oldest for 1d06h; Gemini does not know 1 of them"
	if len(o.Problems) != 1 || o.Problems[0].Words != want {
		t.Errorf("%+v, want %q", o.Problems, want)
	}
}

// TestReadGoesOnBehind: a document in front that cannot be read, or an operation that is late only by an
// earlier setting, hides none of those behind it from the counts [R6, L5].
func TestReadGoesOnBehind(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	now := time.Now()
	var writes []ledger.Write
	for i, age := range []time.Duration{2 * time.Hour, 3 * time.Hour, 4 * time.Hour} { // the first cannot be read
		at := now.Add(-age)
		rec := operation.Record{
			Schema: 1, Version: 1, Key: operation.Key(fmt.Sprint("batches/unregistered", i)), Collection: operation.Batches,
			State: operation.Succeeded, CreatedAt: at, SettledAt: at, UnresolvedAt: at,
		}
		twice := rec
		twice.Key, twice.Registered = operation.Key(fmt.Sprint("batches/twice", i)), true
		twice.UnresolvedAt, twice.ConflictAt, twice.ConflictState = time.Time{}, at, operation.Failed
		body := ledger.Quarantined{
			Schema: 1, ID: fmt.Sprint("body", i), Reason: "malformed", ReceivedAt: at, UnresolvedAt: at,
		}
		if i == 0 {
			rec.Schema, twice.Schema, body.Schema = 99, 99, 99
		}
		writes = append(writes, ledger.Write{Path: ledger.OperationPath(rec.Key), Data: rec},
			ledger.Write{Path: ledger.OperationPath(twice.Key), Data: twice},
			ledger.Write{Path: ledger.Path("quarantine/" + body.ID), Data: body})
	}
	for i, age := range []time.Duration{time.Hour, time.Hour, 30 * time.Hour} {
		at := now.Add(-age)
		late := operation.Record{
			Schema: 1, Version: 1, Key: operation.Key(fmt.Sprint("batches/late", i)), Collection: operation.Batches,
			State: operation.Running, Registered: true, CreatedAt: at, SubmittedAt: at, DueAt: now,
			LateAt: now.Add(time.Duration(i-5) * time.Minute),
		}
		writes = append(writes, ledger.Write{Path: ledger.OperationPath(late.Key), Data: late})
	}
	if _, err := store.Commit(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{2, 10} {
		o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: 5 * time.Minute, Most: most})
		if err != nil {
			t.Fatal(err)
		}
		if o.Conflicts.N != 3 || o.Unregistered.N != 3 || o.Unregistered.Long.N != 3 || o.Unread.Unresolved.N != 3 {
			t.Errorf("%d ended twice, %d unregistered, %d of them long, %d unread: want what cannot be read, and 2 of each",
				o.Conflicts.N, o.Unregistered.N, o.Unregistered.Long.N, o.Unread.Unresolved.N)
		}
		if o.Pending.Late.N != 1 {
			t.Errorf("the first %d read: %d late, want 1", most, o.Pending.Late.N)
		}
	}
}

// TestReadBehindBroken: where only what cannot be read is late, each of it is reported once, and the
// operation behind it that will be late first is found.
func TestReadBehindBroken(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	now := time.Now()
	for i, schema := range []int{99, 99, 99, 1} {
		at := now.Add(time.Duration(i-30) * time.Hour)
		rec := operation.Record{
			Schema: schema, Version: 1, Key: operation.Key(fmt.Sprint("batches/", i)), Collection: operation.Batches,
			State: operation.Running, Registered: true, CreatedAt: at, SubmittedAt: at, DueAt: now,
			LateAt: at.Add(28 * time.Hour),
		}
		if _, err := store.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath(rec.Key), Data: rec}); err != nil {
			t.Fatal(err)
		}
	}
	o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: 5 * time.Minute, Most: 4})
	paths := map[ledger.Path]int{}
	for _, b := range o.Broken {
		paths[b.Path]++
	}
	if err != nil || o.Pending.Oldest != "batches/3" || len(paths) != 3 || len(o.Broken) != 3 {
		t.Errorf("%v; the oldest is %q, and %v cannot be read", err, o.Pending.Oldest, paths)
	}
}

// TestReadLate: the oldest is one of those that are late where some are, else of those that will be first.
func TestReadLate(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	now := time.Now()
	pending := func(key operation.Key, of operation.Collection, age, after time.Duration) {
		at := now.Add(-age)
		rec := operation.Record{
			Schema: 1, Version: 1, Key: key, Collection: of, State: operation.Running, Registered: true, CreatedAt: at,
			SubmittedAt: at, DueAt: now, LateAt: at.Add(after),
		}
		if _, err := store.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath(key), Data: rec}); err != nil {
			t.Fatal(err)
		}
	}
	reads := func(late int, oldest operation.Key) {
		t.Helper()
		o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: 5 * time.Minute, Most: 2})
		if err != nil || o.Pending.Late.N != late || o.Pending.Oldest != oldest {
			t.Errorf("%+v, %v; want %d late, the oldest %s", o.Pending, err, late, oldest)
		}
	}
	pending("batches/a", operation.Batches, 20*time.Hour, 24*time.Hour)
	reads(0, "batches/a")
	for i, key := range []operation.Key{"operations/a", "operations/b", "operations/c"} {
		pending(key, operation.Operations, time.Duration(7+i)*time.Hour, 6*time.Hour)
		reads(i+1, key)
	}
}

// TestReadUndelivered: of a file it is read whether deliveries report completions, where the webhook is enabled.
func TestReadUndelivered(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	var writes []ledger.Write
	for i := range 60 {
		rec := operation.Record{
			Schema: 1, Version: 1, Key: operation.Key(fmt.Sprint("batches/found", i)), Collection: operation.Batches,
			State: operation.Succeeded, Registered: true, CreatedAt: time.Now(), SettledBy: operation.Reconcile,
			SettledAt: time.Now().Add(-time.Duration(i) * time.Minute),
		}
		writes = append(writes, ledger.Write{Path: ledger.OperationPath(rec.Key), Data: rec})
	}
	if _, err := store.Commit(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		webhook ledger.WebhookHealth
		file    bool
		count   int
	}{{ledger.WebhookNone, true, 0}, {ledger.WebhookEnabled, false, 0}, {ledger.WebhookEnabled, true, 50}} {
		lookups, err := l.Passes.Begin(t.Context(), time.Second)
		if err == nil {
			err = lookups.Report(t.Context(), ledger.Pass{
				Began: time.Now(), Ended: time.Now(), Outcome: ledger.PassDone, Webhook: c.webhook,
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		o, err := overview.Read(t.Context(), l.Reading(),
			overview.Options{Interval: time.Hour, Most: 10, File: c.file})
		if err != nil || o.Undelivered.Count != c.count || o.Undelivered.Partial != (c.count > 0) ||
			len(o.Notes) != c.count/50 {
			t.Errorf("%+v: %+v, %v, %v", c, o.Undelivered, o.Notes, err)
		}
	}
}

// TestReadMissingLately: of a file it is noted that Gemini does not know an operation, before that needs an operator.
func TestReadMissingLately(t *testing.T) {
	t.Parallel()
	store, l := newLedger(t)
	now := time.Now()
	var writes []ledger.Write
	for key, missing := range map[operation.Key]time.Duration{
		"batches/known": 0, "batches/unknown": 20 * time.Minute, "batches/after": 10 * time.Minute,
	} {
		rec := operation.Record{
			Schema: 1, Version: 1, Key: key, Collection: operation.Batches, State: operation.Pending, Registered: true,
			CreatedAt: now.Add(-time.Hour), SubmittedAt: now.Add(-time.Hour), DueAt: now.Add(time.Minute),
			LateAt: now.Add(time.Hour),
		}
		if missing > 0 {
			rec.MissingSince = now.Add(-missing)
		}
		writes = append(writes, ledger.Write{Path: ledger.OperationPath(key), Data: rec})
	}
	if _, err := store.Commit(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	for _, file := range []bool{false, true} {
		o, err := overview.Read(t.Context(), l.Reading(), overview.Options{Interval: time.Hour, Most: 10, File: file})
		if err != nil || len(o.Problems) > 0 {
			t.Fatalf("%+v, %v", o.Problems, err)
		}
		if len(o.Notes) > 1 || (len(o.Notes) == 1) != file {
			t.Fatalf("file %t: %+v", file, o.Notes)
		}
		for _, note := range o.Notes {
			if !strings.HasPrefix(note.Words, "Gemini does not know 2 pending operations, for 20m") ||
				note.Command != "opledger show batches/unknown" || note.Playbook != "missing" {
				t.Errorf("%+v", note)
			}
		}
	}
}
