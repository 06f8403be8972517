package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/opledger/opledger/shared/ledger"
)

var errReadOnly = fmt.Errorf("the ledger's file was opened to be read alone: %w", ledger.ErrInvalid)

// OpenReader opens an existing file for reading alone: no document is written, and rights to read the
// file are enough. Commit and Expire return ErrInvalid. A file of an older revision is
// read as it is, without the indexes that it lacks. The error is or wraps fs.ErrNotExist where there
// is no file, and one that is not a ledger's is refused.
//
// SQLite needs two files beside one that is in use. Where they are missing and cannot be created, the
// file is read as one that nothing changes. Each read checks that nothing has, and otherwise opens the
// file again.
func OpenReader(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	s, err := openReader(ctx, path, now)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger in %s to read it: %w", path, diskRemedy(err))
	}
	return s, nil
}

func openReader(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		return nil, errors.New("it is a directory: name the file")
	}
	s, err := tryReader(ctx, path, now, url.Values{})
	if code := resultCode(err); code != sqlite3.SQLITE_CANTOPEN && code != sqlite3.SQLITE_READONLY {
		return s, err
	}
	log, logErr := os.Stat(path + "-wal")
	if logErr == nil && log.Size() > 0 {
		return nil, fmt.Errorf("%w: it was not closed, and its last commits are in %s-wal: copy both to a directory that "+
			"one may write in", err, path)
	}
	if logErr != nil && !errors.Is(logErr, fs.ErrNotExist) {
		return nil, errors.Join(err, logErr)
	}
	return openStill(ctx, path, now)
}

// tryReader opens the file with more parameters, and checks that it is a ledger.
func tryReader(ctx context.Context, path string, now func() time.Time, parameters url.Values) (s *Store, err error) {
	// With rights to write, SQLite removes the files beside this one when the last program closes it.
	parameters.Set("mode", "rw")
	parameters["_pragma"] = []string{pragmaBusy(busyTimeout), "query_only(1)"}
	s = &Store{now: now, clock: newClock(now), queries: new(prepared), slots: make(chan struct{}, readers)}
	if s.read, err = connect(path, parameters); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s, err = nil, errors.Join(err, s.Close())
		}
	}()
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	empty, err := checkSchema(ctx, s.read)
	switch {
	case resultCode(err) == sqlite3.SQLITE_NOTADB:
		return s, fmt.Errorf("%w: name another file", err)
	case err != nil:
		return s, err
	case empty:
		return s, errors.New("the file is empty: no ledger was written to it yet")
	}
	if s.indexed, err = hasIndexes(ctx, s.read); err != nil {
		return s, err
	}
	return s, s.prepare(ctx)
}

// hasIndexes reports whether the file has every index of indexes.sql.
func hasIndexes(ctx context.Context, db *sql.DB) (bool, error) {
	var names string // in one query: every command asks
	err := db.QueryRowContext(ctx, "SELECT coalesce(group_concat(name, ' '), '') FROM sqlite_schema WHERE type = 'index'").
		Scan(&names)
	there := strings.Fields(names)
	for _, index := range indexes() {
		if !slices.Contains(there, index.name) {
			return false, err
		}
	}
	return true, err
}
