package sqlite

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/ledger"
)

// Query reads through one of the indexes of schema.sql.
func (s *Store) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	text, args := statement(q)
	rows, err := s.read.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, classify("querying "+q.Collection, err)
	}
	found, err := scan(rows)
	if err != nil {
		return nil, classify("querying "+q.Collection, err)
	}
	return found, nil
}

// Count counts through the index of the same Query.
func (s *Store) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	if ceiling < 1 {
		return 0, fmt.Errorf("counting %s: the ceiling %d is not positive: %w", q.Collection, ceiling, ledger.ErrInvalid)
	}
	q.Limit = ceiling
	text, args := statement(q)
	var found int
	err := s.read.QueryRowContext(ctx, "SELECT count(*) FROM ("+text+")", args...).Scan(&found)
	return found, classify("counting "+q.Collection, err)
}

// statement returns q in SQL.
func statement(q ledger.Query) (text string, args []any) {
	column := "listed_at"
	switch q.OrderBy {
	case ledger.FieldDueAt:
		column = "due_at"
	case ledger.FieldFailedAt:
		column = "failed_at"
	}
	where := []string{"collection = ?", column + " IS NOT NULL"}
	args = []any{q.Collection}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.Under != "" {
		and("parent = ?", string(q.Under))
	}
	for _, equal := range q.Where {
		// A body that is damaged must not fail the query for all others.
		and("CASE WHEN json_valid(body) THEN json_extract(body, ?) END = ?", "$."+equal.Field, equal.Value)
	}
	if !q.NotAfter.IsZero() {
		and(column+" <= ?", q.NotAfter.UnixMicro())
	}
	direction, behind := "ASC", ">"
	if q.Descending {
		direction, behind = "DESC", "<"
	}
	if q.After.Path != "" {
		and(fmt.Sprintf("(%s, position) %s (?, replace(?, '/', char(1)))", column, behind),
			q.After.At.UnixMicro(), string(q.After.Path))
	}
	return fmt.Sprintf(
		"SELECT path, version, body, %s FROM documents WHERE %s ORDER BY %[1]s %[3]s, position %[3]s LIMIT ?", column,
		strings.Join(where, " AND "), direction,
	), append(args, q.Limit)
}
