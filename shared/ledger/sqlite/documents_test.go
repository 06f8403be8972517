package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
)

// TestFrozenDocuments: what the first release stored is read as what it meant, and stored so [L5].
func TestFrozenDocuments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store := open(t, path)
	t.Cleanup(func() { closed(t, store) })
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	raw := ledgertest.RawStore{
		Store: store,
		Read: func(t testing.TB, path ledger.Path) []byte {
			t.Helper()
			var body []byte
			row := db.QueryRowContext(t.Context(), "SELECT body FROM documents WHERE path = ?", string(path))
			if err := row.Scan(&body); err != nil {
				t.Fatal(err)
			}
			var indented bytes.Buffer
			if err := json.Indent(&indented, body, "", "  "); err != nil {
				t.Fatal(err)
			}
			return append(indented.Bytes(), '\n')
		},
		Write: func(t testing.TB, path ledger.Path, text []byte) {
			t.Helper()
			if _, err := store.Commit(t.Context(), ledger.Write{Path: path, Data: struct{}{}}); err != nil {
				t.Fatal(err)
			}
			_, err := db.ExecContext(t.Context(), "UPDATE documents SET body = ? WHERE path = ?", string(text), string(path))
			if err != nil {
				t.Fatal(err)
			}
		},
	}
	ledgertest.CheckFrozen(t, "testdata", raw, append(ledgertest.FrozenDocuments(), result()))
}

// result is the document of an effect that writes the items of a batch back.
func result() ledgertest.Frozen {
	return ledgertest.Frozen{Kind: "result", Data: results.ItemResult{
		Schema: 1, Operation: "batches/abc-123", JobKind: "nightly", Key: "review-17", Index: 17,
		Response: `{"text":"<ü>"}`, Error: `{"code":8}`, IdempotencyKey: "gemini:batches/abc-123#publish/items/review-17",
	}}
}

// TestRefusedDocuments: a document that could not be read again is refused, and the error says why.
func TestRefusedDocuments(t *testing.T) {
	t.Parallel()
	store := open(t, fresh(t))
	defer closed(t, store)
	for want, data := range map[string]any{
		"year outside": doc{ExpireAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"cannot parse": struct {
			DueAt string `json:"dueAt"`
		}{"tomorrow"},
	} {
		_, err := store.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: data})
		if !errors.Is(err, ledger.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want ErrInvalid that says %q", data, err, want)
		}
	}
}

// TestTimeOfADamagedFile: a ledger that cannot be read does not tell the time either, because the answer
// is taken for a sign that it can.
func TestTimeOfADamagedFile(t *testing.T) {
	t.Parallel()
	path := fresh(t)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range file[4096:] { // all pages but the first
		file[4096+i] = 0xff
	}
	store := open(t, path)
	defer closed(t, store)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := store.Get(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("Get: %+v, %v, want ErrUnavailable", s, err)
	}
}
