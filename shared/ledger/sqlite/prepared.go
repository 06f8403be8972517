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
	mu     sync.Mutex // held for no statement of SQLite
	byText map[string]*sql.Stmt
}

func newPrepared() *prepared { return &prepared{byText: map[string]*sql.Stmt{}} }

// statement returns the prepared text, of db alone. The error is SQLite's.
func (p *prepared) statement(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	p.mu.Lock()
	kept := p.byText[text]
	p.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	made, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if kept := p.byText[text]; kept != nil { // another caller was faster
		_ = made.Close() // what is not used is not missed
		return kept, nil
	}
	p.byText[text] = made
	return made, nil
}
