package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	harness.AtOnce(8) // they wait for each other's locks
	harness.SpendMemory()
	goleak.VerifyTestMain(m)
}

// TestConformance runs the conformance suite on SQLite: on one handle, and with the calls alternating between two
// handles on one file, as two processes have them.
//
// The short setting runs it once: those of races, leaps of the clock and faults have two handles, and the name of each
// other test chooses how many it has. Outside of the gate one in four of these has two.
func TestConformance(t *testing.T) {
	t.Parallel()
	handles := []func(*testing.T) ledger.Store{
		func(t *testing.T) ledger.Store { return open(t, fresh(t)) },
		func(t *testing.T) ledger.Store {
			path := fresh(t)
			return &alternating{stores: [2]ledger.Store{open(t, path), open(t, path)}}
		},
	}
	if harness.Soak(t, true, false, false) {
		two, oneIn := regexp.MustCompile(`Races/|/Leap/|/LostAnswers/|/Faults/`), uint32(2)
		if !harness.Thorough(t) {
			oneIn = 4
		}
		ledgertest.RunAndRecord(t, func(t *testing.T) ledger.Store {
			if two.MatchString(t.Name()) || crc32.ChecksumIEEE([]byte(t.Name()))%oneIn == 1 {
				return handles[1](t)
			}
			return handles[0](t)
		})
		return
	}
	for i, of := range handles {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			t.Parallel()
			ledgertest.Run(t, of)
		})
	}
}

// empty is the file of an empty ledger. Making its schema takes as long as most tests.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "opledger-empty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty ledger stays
	path := filepath.Join(dir, "ledger.db")
	store, err := sqlite.Open(context.Background(), path, time.Now)
	if err == nil {
		err = store.Close() // which leaves nothing beside the file
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// fresh returns the path of an empty ledger.
func fresh(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	file, err := empty()
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// An alternating is one store with two handles, used in turn.
type alternating struct {
	stores [2]ledger.Store
	calls  atomic.Int64
}

func (a *alternating) store() ledger.Store { return a.stores[a.calls.Add(1)%2] }

func (a *alternating) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	return a.store().Get(ctx, paths...)
}

func (a *alternating) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	return a.store().Commit(ctx, writes...)
}

func (a *alternating) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	return a.store().Query(ctx, q)
}

func (a *alternating) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	return a.store().Count(ctx, q, ceiling)
}

func (a *alternating) Close() error { return errors.Join(a.stores[0].Close(), a.stores[1].Close()) }

// TestExpire: what has expired is deleted, and nothing else [L3].
func TestExpire(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := sqlite.Open(t.Context(), path, clock)
	if err != nil {
		t.Fatal(err)
	}
	for id, expire := range map[ledger.Path]time.Time{
		"operations/past":            now.Add(-time.Hour),
		"operations/past/effects/no": {},
		"operations/now":             now,
		"operations/soon":            now.Add(time.Microsecond),
		"operations/never":           {},
	} {
		if _, err := store.Commit(t.Context(), ledger.Write{Path: id, Data: doc{ExpireAt: expire}}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := store.Expire(t.Context()); err != nil || n != 2 {
		t.Errorf("deleted %d, %v, want 2", n, err)
	}
	for id, want := range map[ledger.Path]bool{
		"operations/past": false, "operations/past/effects/no": true, "operations/now": false, "operations/soon": true,
		"operations/never": true,
	} {
		if _, there := get(t, store, id); there != want {
			t.Errorf("%s is there: %v, want %v", id, there, want)
		}
	}
	closed(t, store)

	now = now.Add(time.Hour)
	if store, err = sqlite.Open(t.Context(), path, clock); err != nil {
		t.Fatal(err)
	}
	defer closed(t, store)
	if _, there := get(t, store, "operations/soon"); !there {
		t.Error("opening the file deleted what had expired")
	}
}

// TestUnreadableBody: a damaged body, and a condition on it, do not hide other documents from a
// query [R6].
func TestUnreadableBody(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store := open(t, path)
	defer closed(t, store)
	for i, id := range []ledger.Path{"operations/a", "operations/b", "operations/c"} {
		record := operation.Record{Version: 1, State: operation.Failed, CreatedAt: time.Unix(int64(i), 0)}
		if _, err := store.Commit(t.Context(), ledger.Write{Path: id, Data: record}); err != nil {
			t.Fatal(err)
		}
	}
	raw(t, path, `UPDATE documents SET body = '{"state":' WHERE path = 'operations/b'`)
	for _, where := range [][]ledger.Equal{nil, {{Field: "state", Value: string(operation.Failed)}}} {
		found, err := store.Query(t.Context(), ledger.Query{
			Collection: ledger.OperationsCollection, Where: where, OrderBy: ledger.FieldCreatedAt, Limit: 9,
		})
		if err != nil || len(found) != 3-len(where) {
			t.Errorf("where %v: %+v, %v", where, found, err)
		}
	}
}

// TestCommitCutOff: a commit that waits for another process ends with its context, returns its
// error, and writes nothing.
func TestCommitCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store := open(t, path)
	defer closed(t, store)
	_, unlock := locked(t, path)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := store.Commit(ctx, ledger.Write{Path: "operations/a", Data: doc{}})
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ledger.ErrConflict) ||
		errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Commit: %v, want the context's end alone", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.Get(canceled, "operations/a")
	if !errors.Is(err, context.Canceled) || errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Get: %v, want the context's end alone", err)
	}
	unlock()
	if _, there := get(t, store, "operations/a"); there {
		t.Error("it was written")
	}
	if _, err := store.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{}}); err != nil {
		t.Errorf("the next commit: %v", err)
	}
}

// TestReadersDoNotWait: reads continue during a commit, and see what was there before.
func TestReadersDoNotWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store := open(t, path)
	defer closed(t, store)
	if _, err := store.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{Text: "before"}}); err != nil {
		t.Fatal(err)
	}
	tx, unlock := locked(t, path)
	if _, err := tx.ExecContext(t.Context(), `UPDATE documents SET body = '{"text":"after"}'`); err != nil {
		t.Error(err)
	}
	if got, _ := get(t, store, "operations/a"); got.Text != "before" {
		t.Errorf("read %q", got.Text)
	}
	unlock()
}

// TestClosed: a closed store returns an error, not a missing document.
func TestClosed(t *testing.T) {
	t.Parallel()
	store := open(t, filepath.Join(t.TempDir(), "ledger.db"))
	closed(t, store)
	if _, err := store.Get(t.Context(), "operations/a"); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Get: %v", err)
	}
	if _, err := store.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{}}); !errors.Is(
		err, ledger.ErrUnavailable,
	) {
		t.Errorf("Commit: %v", err)
	}
}

// A doc is a document of these tests.
type doc struct {
	Text     string    `json:"text,omitempty"`
	ExpireAt time.Time `json:"expireAt,omitzero"`
}

// open opens a store; the caller closes it.
func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// locked takes SQLite's lock for writers, as another process does that is in a transaction.
func locked(t *testing.T, path string) (tx *sql.Tx, unlock func()) {
	t.Helper()
	other, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	if tx, err = other.BeginTx(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return tx, func() {
		t.Helper()
		if err := errors.Join(tx.Rollback(), other.Close()); err != nil {
			t.Error(err)
		}
	}
}

func closed(t testing.TB, store *sqlite.Store) {
	t.Helper()
	if err := store.Close(); err != nil {
		t.Error(err)
	}
}

func get(t testing.TB, store *sqlite.Store, path ledger.Path) (d doc, there bool) {
	t.Helper()
	snapshot, err := store.Get(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Documents[0].Decode(&d); err != nil {
		t.Fatal(err)
	}
	return d, snapshot.Documents[0].Exists()
}
