// Package invoice is an example of a handler of one's own: it writes an invoice for each operation
// that succeeds into a database of the team's.
//
// An attempt may be repeated, with the same key and the same bytes, where its outcome did not reach
// the ledger. The table has the idempotency key as its primary key, so a repeat inserts nothing.
package invoice

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	_ "modernc.org/sqlite" // the driver; with Postgres the statements are the same

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// A Handler writes invoices. It is safe for concurrent use.
type Handler struct {
	db  *sql.DB
	log *slog.Logger
}

var _ effect.Handler = (*Handler)(nil)

// Open returns a handler that writes to the file at path, which it makes where there is none.
func Open(ctx context.Context, path string, log *slog.Logger) (*Handler, error) {
	if path == "" {
		return nil, errors.New("INVOICES is not set; it is the file of the invoices")
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, fmt.Errorf("opening the invoices: %w", err)
	}
	const table = `CREATE TABLE IF NOT EXISTS invoices (key TEXT PRIMARY KEY, operation TEXT, job_kind TEXT)`
	if _, err := db.ExecContext(ctx, table); err != nil {
		return nil, errors.Join(fmt.Errorf("making the table of invoices: %w", err), db.Close())
	}
	return &Handler{db: db, log: log}, nil
}

// Close closes the database.
func (h *Handler) Close() error { return h.db.Close() }

// Perform writes the invoice of an operation, once however often it is called. An error is retried;
// one that no retry can avoid is permanent, and waits for the operator.
func (h *Handler) Perform(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
	var completion ledger.Payload
	if err := json.Unmarshal(task.Payload, &completion); err != nil {
		return nil, effect.Permanent(fmt.Errorf("reading the completion: %w", err))
	}
	if completion.JobKind == "" {
		return nil, effect.Permanent(errors.New("an operation without a job kind has no price"))
	}
	const insert = `INSERT INTO invoices VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	result, err := h.db.ExecContext(ctx, insert, task.IdempotencyKey, completion.Operation, completion.JobKind)
	if err != nil {
		return nil, fmt.Errorf("writing the invoice: %w", err)
	}
	if rows, err := result.RowsAffected(); err == nil && rows == 0 {
		h.log.InfoContext(ctx, "the invoice was written before", "key", task.IdempotencyKey)
		return nil, nil
	}
	h.log.InfoContext(ctx, "invoice written", "key", task.IdempotencyKey)
	return nil, nil
}
