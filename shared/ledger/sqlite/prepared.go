package sqlite

import (
	"context"
	"database/sql"
	"sync"
)

// prepared keeps the statements of queries, by their text: SQLite takes longer to parse one than to run
// it. A text is one shape of the ledger's queries, with its values as parameters, so there are few.
// Close of the database ends them.
type prepared struct {
	byText sync.Map // of *sql.Stmt
}

// statement returns the prepared text, of db alone. The error is SQLite's.
func (p *prepared) statement(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	if kept, ok := p.byText.Load(text); ok {
		return kept.(*sql.Stmt), nil //nolint:forcetypeassert // nothing else is stored
	}
	made, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	kept, before := p.byText.LoadOrStore(text, made)
	if before { // another caller was faster
		_ = made.Close() // what is not used is not missed
	}
	return kept.(*sql.Stmt), nil //nolint:forcetypeassert // nothing else is stored
}
