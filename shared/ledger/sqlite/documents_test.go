package sqlite_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/opledger/opledger/shared/effect"
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
	ledgertest.CheckFrozen(t, filepath.Join("testdata", "schema-1"), raw, append(ledgertest.FrozenDocuments(), result()))
}

// result is the document of an effect that writes the items of a batch back.
func result() ledgertest.Frozen {
	return ledgertest.Frozen{Kind: "result", Data: effect.ItemResult{
		Schema: 1, Operation: "batches/abc-123", JobKind: "nightly", Key: "review-17", Index: 17,
		Response: `{"text":"<ü>"}`, Error: `{"code":8}`, IdempotencyKey: "gemini:batches/abc-123#publish/items/review-17",
	}}
}
