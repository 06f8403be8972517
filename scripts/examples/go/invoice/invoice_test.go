package invoice_test

import (
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/opledger/opledger/scripts/examples/go/invoice"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

func task(payload string) effect.Task {
	return effect.Task{Lease: ledger.Lease{
		Payload: []byte(payload), IdempotencyKey: "gemini:batches/abc#invoice",
	}}
}

// TestPerform: a repeated attempt writes no second invoice, also by another process [K4].
func TestPerform(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "invoices.db")
	for range 2 {
		handler, err := invoice.Open(t.Context(), path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, err := handler.Perform(t.Context(), task(`{"operation":"batches/abc","jobKind":"review"}`))
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := handler.Close(); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // it was only read
	var n int
	var operation string
	if err := db.QueryRowContext(t.Context(), `SELECT count(*), max(operation) FROM invoices`).
		Scan(&n, &operation); err != nil {
		t.Fatal(err)
	}
	if n != 1 || operation != "batches/abc" {
		t.Errorf("%d invoices, the last of %s, want one of batches/abc", n, operation)
	}
}

// TestPerformPermanent: what no retry can change is not retried; what a retry may change is.
func TestPerformPermanent(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "invoices.db")
	handler, err := invoice.Open(t.Context(), path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, payload := range []string{`{`, `{"operation":"batches/abc"}`} {
		if _, err := handler.Perform(t.Context(), task(payload)); !effect.IsPermanent(err) {
			t.Errorf("%s: %v, want a permanent error", payload, err)
		}
	}
	if err := handler.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = handler.Perform(t.Context(), task(`{"operation":"batches/abc","jobKind":"review"}`))
	if err == nil || effect.IsPermanent(err) {
		t.Errorf("without the database: %v, want an error to retry", err)
	}
}

// TestOpenErrors: the function does not start without the place of the invoices.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", t.TempDir()} {
		if _, err := invoice.Open(t.Context(), path, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%q is opened", path)
		}
	}
}
