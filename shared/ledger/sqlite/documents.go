package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"time"

	json "github.com/go-json-experiment/json/v1" // the encoding/json of Go 1.27, which takes half as long

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Get reads all paths in one statement, and so as of one instant. Without paths it runs it, too: the clock alone would
// not show that the store can be read.
func (s *Store) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot := ledger.Snapshot{Documents: make([]ledger.Document, len(paths))}
	places := make(map[ledger.Path][]int, len(paths))
	for i, path := range paths {
		snapshot.Documents[i] = ledger.Document{Path: path}
		places[path] = append(places[path], i)
	}
	var found []ledger.Document
	err := s.reading(ctx, func() error {
		rows, err := s.rowsOf(ctx, paths)
		if err == nil {
			found, err = scan(rows)
		}
		return err
	})
	if err != nil {
		return ledger.Snapshot{}, classify("reading documents", err)
	}
	snapshot.ReadTime, snapshot.Leapt = s.clock.read() // read last: nothing that was read may be later
	for _, document := range found {
		for _, i := range places[document.Path] {
			snapshot.Documents[i] = document
		}
	}
	return snapshot, nil
}

// rowsOf queries the documents at paths. Most calls are for one or two, as every delivery's is, for which
// SQLite takes half as long without a list, of which it first makes a table.
func (s *Store) rowsOf(ctx context.Context, paths []ledger.Path) (*sql.Rows, error) {
	if len(paths) <= 2 {
		var two [2]ledger.Path // what stays empty is no document's
		copy(two[:], paths)
		// It ends by itself: in microseconds, or after busyTimeout. To watch a context takes as long.
		return s.get.QueryContext(context.WithoutCancel(ctx), string(two[0]), string(two[1]))
	}
	list, err := json.Marshal(paths)
	if err != nil {
		return nil, err
	}
	statement, err := s.queries.statement(ctx, s.read, getMany)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, string(list))
}

// What Get reads, of at most two documents and of more.
const (
	getWhere = "SELECT path, version, body, NULL FROM documents WHERE path "
	getTwo   = getWhere + "= ?1 UNION ALL " + getWhere + "= ?2"
	getMany  = getWhere + "IN (SELECT value FROM json_each(?))"
)

// scan reads rows of path, version, body and the time that the query ordered by, and closes them.
func scan(rows *sql.Rows) (documents []ledger.Document, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var path string
		var version int64
		var body []byte
		var at any
		if err := rows.Scan(&path, &version, &body, &at); err != nil {
			return nil, err
		}
		document := ledger.NewDocument(ledger.Path(path), token(version), func(into any) error {
			return json.Unmarshal(body, into)
		})
		document.At = timeOf(at)
		documents = append(documents, document)
	}
	return documents, rows.Err()
}

func token(version int64) ledger.Token { return ledger.Token(strconv.FormatInt(version, 10)) }

// Commit checks every precondition and writes, all or nothing. Commits that wait at the same time
// share a transaction and its fsync; each still succeeds or conflicts by itself.
func (s *Store) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if s.write == nil {
		return nil, errReadOnly
	}
	rows := make([]row, len(writes))
	bytes := 0
	for i, w := range writes {
		var err error
		if rows[i], err = s.encode(w); err != nil {
			return nil, err
		}
		bytes += len(rows[i].body)
	}
	tokens := make([]ledger.Token, len(rows)) // read only after join returned nil, which is after it was written
	write := func(ctx context.Context, tx *sql.Tx, version int64) error {
		for i, r := range rows {
			if err := s.put(ctx, tx, r, version); err != nil {
				return err
			}
			if r.body != nil {
				tokens[i] = token(version)
			}
		}
		return nil
	}
	if err := s.join(ctx, &member{write: write, bytes: bytes, single: len(rows) == 1}); err != nil {
		return nil, classify("committing", err)
	}
	return tokens, nil
}

// A row is one write, ready for the table.
type row struct {
	path                        ledger.Path
	token                       ledger.Token
	data                        any    // the write's
	body                        []byte // nil deletes
	due, listed, failed, expire sql.NullInt64
}

// encode makes the row of a write. The error is ErrInvalid.
func (s *Store) encode(w ledger.Write) (row, error) {
	r := row{path: w.Path, token: w.Token, data: w.Data}
	if w.Data == nil {
		return r, nil
	}
	body, err := marshal(s.cutTimes(w.Data))
	if err != nil {
		return row{}, fmt.Errorf("encoding %s: %w: %w", w.Path, ledger.ErrInvalid, err)
	}
	return r.with(body)
}

// with returns the row with a body, and with the columns that repeat parts of it. The error is
// ErrInvalid.
func (r row) with(body []byte) (row, error) {
	if len(body) > ledger.MaxDocumentBytes {
		return row{}, fmt.Errorf("encoding %s: %w: %d bytes are more than %d",
			r.path, ledger.ErrInvalid, len(body), ledger.MaxDocumentBytes)
	}
	var times struct{ DueAt, CreatedAt, ReceivedAt, FailedAt, ExpireAt time.Time }
	if err := json.Unmarshal(body, &times); err != nil {
		return row{}, fmt.Errorf("encoding %s: %w: %w", r.path, ledger.ErrInvalid, err)
	}
	r.body = body
	r.due, r.failed, r.expire = micros(times.DueAt), micros(times.FailedAt), micros(times.ExpireAt)
	r.listed = micros(times.CreatedAt)
	if !r.listed.Valid {
		r.listed = micros(times.ReceivedAt)
	}
	return r, nil
}

// marshal encodes without escaping for HTML: texts come back as they were stored.
func marshal(data any) ([]byte, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(data)
	return bytes.TrimSpace(body.Bytes()), err
}

// cutTimes returns a pointer to a copy of a struct, with its times cut to microseconds, as Firestore does.
func (s *Store) cutTimes(data any) any {
	fields := reflect.New(reflect.TypeOf(data)).Elem()
	fields.Set(reflect.ValueOf(data))
	for _, index := range s.timesOf(fields.Type()) {
		if t, ok := fields.FieldByIndex(index).Addr().Interface().(*time.Time); ok {
			*t = operation.Instant(*t)
		}
	}
	return fields.Addr().Interface() // not a third copy of it
}

// timesOf returns where a struct type has its times. It keeps them: to look for them takes longer than to
// encode the struct.
func (s *Store) timesOf(t reflect.Type) [][]int {
	if kept, ok := s.times.Load(t); ok {
		return kept.([][]int) //nolint:forcetypeassert // nothing else is stored
	}
	var all [][]int
	for _, field := range reflect.VisibleFields(t) {
		if field.Type == reflect.TypeFor[time.Time]() {
			all = append(all, field.Index)
		}
	}
	s.times.Store(t, all)
	return all
}

func micros(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMicro(), Valid: !t.IsZero()}
}

// prepare makes the statements that Get and Commit use.
func (s *Store) prepare(ctx context.Context) error {
	for _, statement := range []struct {
		into **sql.Stmt
		db   *sql.DB
		text string
	}{
		{&s.get, s.read, getTwo},
		{&s.next, s.write, advance},
		{&s.savepoint, s.write, "SAVEPOINT member"},
		{&s.undo, s.write, "ROLLBACK TO member"},
		{&s.release, s.write, "RELEASE member"},
		{&s.stored, s.write, "SELECT body FROM documents WHERE path = ? AND version = ?"},
		{&s.insert, s.write, `INSERT INTO documents
			(path, collection, parent, version, body, due_at, listed_at, failed_at, expire_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO NOTHING`},
		{&s.update, s.write, `UPDATE documents
			SET version = ?, body = ?, due_at = ?, listed_at = ?, failed_at = ?, expire_at = ?
			WHERE path = ? AND version = ?`},
		{&s.remove, s.write, "DELETE FROM documents WHERE path = ? AND version = ?"},
	} {
		if statement.db == nil {
			continue
		}
		var err error
		if *statement.into, err = statement.db.PrepareContext(ctx, statement.text); err != nil {
			return err
		}
	}
	return nil
}

// put writes one row, if its precondition holds. The error is or wraps ErrConflict where it does
// not.
func (s *Store) put(ctx context.Context, tx *sql.Tx, r row, version int64) error {
	var result sql.Result
	var err error
	switch {
	case r.body == nil:
		result, err = tx.StmtContext(ctx, s.remove).ExecContext(ctx, string(r.path), string(r.token))
	case r.token == "":
		result, err = tx.StmtContext(ctx, s.insert).ExecContext(ctx,
			string(
				r.path,
			), r.path.Collection(), string(r.path.Parent()), version, string(r.body), r.due, r.listed, r.failed, r.expire)
	default:
		if r, err = s.carry(ctx, tx, r); err != nil {
			return err
		}
		result, err = tx.StmtContext(ctx, s.update).ExecContext(ctx,
			version, string(r.body), r.due, r.listed, r.failed, r.expire, string(r.path), string(r.token))
	}
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", r.path, ledger.ErrConflict)
}
