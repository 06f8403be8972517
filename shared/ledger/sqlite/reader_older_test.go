package sqlite

import (
	"context"
	"database/sql"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestFileOfAnOlderRevision: a file that lacks the indexes is read without them; opened to be
// written it gets them, with what it holds; and an older revision that writes to it then keeps them
// up [L5].
func TestFileOfAnOlderRevision(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	older := raw(t, path, schema+"PRAGMA journal_mode = WAL; PRAGMA user_version = 2;")
	insert := func(id string, state operation.State) {
		t.Helper()
		path := ledger.OperationPath(operation.Key("batches/" + id))
		rec, err := new(Store).encode(ledger.Write{Path: path, Data: operation.Record{
			Schema: 1, Version: 1, Key: operation.Key("batches/" + id), Collection: operation.Batches, State: state,
			Submission: operation.Submission{JobKind: "nightly"}, CreatedAt: time.Now(), SettledAt: time.Now(),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := older.ExecContext(t.Context(), `INSERT INTO documents
			(path, collection, parent, version, body, due_at, listed_at, failed_at, expire_at)
			VALUES (?, 'operations', '', 1, ?, NULL, ?, NULL, NULL)`,
			string(rec.path), string(rec.body), rec.listed); err != nil {
			t.Fatal(err)
		}
	}
	check := func(open func(context.Context, string, func() time.Time) (*Store, error), indexed bool, want string) {
		t.Helper()
		s, err := open(t.Context(), path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if got := found(t, s); got != want || s.indexed != indexed {
			t.Errorf("found %q with indexes %t, want %q with %t", got, s.indexed, want, indexed)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	insert("a", operation.Succeeded)
	insert("b", operation.Failed)
	const two, three = "b a,b,b a,b,b a,,,b a", "c b a,c b,c b a,c b,c b a,,,c b a"
	check(OpenReader, false, two)
	check(Open, true, two)
	insert("c", operation.Failed)
	check(Open, true, three)
	check(OpenReader, true, three)
	if _, err := older.ExecContext(t.Context(),
		`UPDATE documents SET body = replace(body, 'FAILED', 'EXPIRED')`); err != nil {
		t.Fatal(err)
	}
	check(OpenReader, true, "c b a,,c b a,,c b a,,,c b a")
	for _, index := range indexes() { // any one that is missing
		if _, err := older.ExecContext(t.Context(), "DROP INDEX "+index.name); err != nil {
			t.Fatal(err)
		}
		check(OpenReader, false, "c b a,,c b a,,c b a,,,c b a")
		check(Open, true, "c b a,,c b a,,c b a,,,c b a")
	}
}

// raw makes a database without the ledger's code.
func raw(t *testing.T, path, text string) *sql.DB {
	t.Helper()
	db, err := connect(path, url.Values{})
	if err == nil {
		_, err = db.ExecContext(t.Context(), text)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
