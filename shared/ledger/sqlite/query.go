package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Query reads through one of the indexes of schema.sql and indexes.sql.
func (s *Store) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	var found []ledger.Document
	err := s.reading(ctx, func() error {
		text, args := s.statement(q)
		statement, err := s.queries.statement(ctx, s.read, text)
		if err != nil {
			return err
		}
		rows, err := statement.QueryContext(ctx, args...)
		if err == nil {
			found, err = scan(rows)
		}
		return err
	})
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
	var found int
	err := s.reading(ctx, func() error {
		text, args := s.statement(q)
		statement, err := s.queries.statement(ctx, s.read, "SELECT count(*) FROM ("+text+")")
		if err != nil {
			return err
		}
		return statement.QueryRowContext(ctx, args...).Scan(&found)
	})
	return found, classify("counting "+q.Collection, err)
}

// statement returns q in SQL.
func (s *Store) statement(q ledger.Query) (text string, args []any) {
	index := ""
	if s.indexed {
		index = indexOf(q)
	}
	by := orderOf(q.OrderBy)
	where := []string{by.sql + " IS NOT NULL"}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	switch q.Collection {
	case ledger.OperationsCollection, ledger.EffectsCollection, ledger.QuarantineCollection, ledger.DeliveriesCollection:
		// Some indexes are of these alone, which no parameter shows.
		and("collection = '" + q.Collection + "'")
	default:
		and("collection = ?", q.Collection)
	}
	if q.Under != "" {
		and("parent = ?", string(q.Under))
	}
	for _, equal := range q.Where {
		and(inBody(equal.Field)+" = ?", equal.Value)
	}
	if !q.NotBefore.IsZero() {
		and(by.sql+" >= ?", by.value(q.NotBefore))
	}
	if !q.NotAfter.IsZero() {
		and(by.sql+" <= ?", by.value(q.NotAfter))
	}
	direction, behind := "ASC", ">"
	if q.Descending {
		direction, behind = "DESC", "<"
	}
	if q.After.Path != "" {
		at := by.value(q.After.At)
		if by.inBody { // SQLite does not find the bound of an expression in the pair
			and(fmt.Sprintf("%s %s= ?", by.sql, behind), at)
		}
		and(fmt.Sprintf("(%s, position) %s (?, replace(?, '/', char(1)))", by.sql, behind), at, string(q.After.Path))
	}
	// As a sum SQLite does not plan with the limit. It would plan again whenever a value is bound to it: a query that
	// finds nothing would take 55 µs, and not 21.
	return fmt.Sprintf(
		"SELECT path, version, body, %s FROM documents %s WHERE %s ORDER BY %[1]s %[4]s, position %[4]s LIMIT 0 + ?", by.sql,
		index, strings.Join(where, " AND "), direction,
	), append(args, q.Limit)
}

// indexOf returns the index over a field of the body that answers q, with INDEXED BY: SQLite would
// rather read everything in order, as long as it knows nothing of the values. Of several fields it is
// the index that finds least. It is empty where another index answers q.
func indexOf(q ledger.Query) string {
	switch {
	case q.Collection == ledger.DeliveriesCollection && q.Under == "":
		return "INDEXED BY of_delivery"
	case q.Under != "" || q.OrderBy != ledger.FieldCreatedAt:
		return ""
	}
	by := map[string]bool{}
	for _, equal := range q.Where {
		by[equal.Field] = true
	}
	switch {
	case q.Collection == ledger.EffectsCollection && by["withoutRecord"]:
		return "INDEXED BY without_record"
	case q.Collection != ledger.OperationsCollection:
		return ""
	case by["deadEffect"]:
		return "INDEXED BY dead"
	case by["jobKind"]:
		return "INDEXED BY of_job_kind"
	case by["state"] && by["collection"]:
		return "INDEXED BY of_state_and_collection"
	case by["state"]:
		return "INDEXED BY of_state"
	case by["collection"]:
		return "INDEXED BY of_collection"
	}
	return ""
}

// An order is what a query orders by: an expression, and a time as the expression has it.
type order struct {
	sql    string
	value  func(time.Time) any
	inBody bool // the expression reads the body
}

// orderOf returns the order by one of the ledger's time fields.
func orderOf(field string) order {
	column := "listed_at"
	switch field {
	case ledger.FieldDueAt:
		column = "due_at"
	case ledger.FieldFailedAt:
		column = "failed_at"
	case ledger.FieldSettledAt, ledger.FieldConflictAt, ledger.FieldLateAt, ledger.FieldUnresolvedAt,
		ledger.FieldFailingSince, ledger.FieldWaiting:
		return order{"rtrim(" + inBody(field) + ", 'Z')", func(t time.Time) any { return timeText(t) }, true}
	}
	return order{column, func(t time.Time) any { return t.UnixMicro() }, false}
}

// inBody returns the SQL of a field of the body. A body that is damaged must not fail the query for
// all others.
func inBody(field string) string {
	return "CASE WHEN json_valid(body) THEN body ->> '$." + strings.ReplaceAll(field, "'", "''") + "' END"
}

// timeText returns a time as a body has it, without the Z: so written, times are in their order also
// where some have more digits than others.
func timeText(t time.Time) string {
	return strings.TrimSuffix(operation.Instant(t).Format(time.RFC3339Nano), "Z")
}

// timeOf returns the time that a query ordered by, from microseconds or from timeText.
func timeOf(at any) time.Time {
	switch at := at.(type) {
	case int64:
		return time.UnixMicro(at).UTC()
	case string:
		t, _ := time.Parse(time.RFC3339Nano, at+"Z") // what is no time is not the ledger's
		return t
	}
	return time.Time{}
}
