// Package sqlite is the embedded store: the ledger's documents in one SQLite file, with real
// transactions and nothing to install. It is a store for one machine, on which any number of
// processes may share a file.
//
// Commits are BEGIN IMMEDIATE transactions in WAL mode with synchronous=FULL: what was committed
// survives the death of the process and of the machine. Concurrent ones share one transaction.
package sqlite

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/opledger/opledger/shared/ledger"
)

var (
	//go:embed schema.sql
	schema string
	//go:embed indexes.sql
	indexesText string
)

// schemaVersion is the number of schema.sql, kept in the file's user_version.
const schemaVersion = 2

const (
	// busyTimeout is how long a commit waits for another process's. It is far longer than any
	// commit takes.
	busyTimeout = 10 * time.Second
	// busyStep is how long SQLite itself waits: no context ends that wait.
	busyStep = 100 * time.Millisecond
	// readers is how many reads run at once.
	readers = 8
)

// A Store is a ledger.Store in an SQLite file.
type Store struct {
	write *sql.DB // one connection: commits of this process queue here rather than in the file's lock; nil: only reads
	read  *sql.DB
	now   func() time.Time
	clock *clock

	// The statements of every commit and read, prepared: SQLite takes longer to parse them than to
	// run them.
	next, savepoint, undo, release, stored, insert, update, remove, get *sql.Stmt
	queries                                                             *prepared // of read

	queue queue
	times sync.Map      // the places of the times in a struct, by its type
	slots chan struct{} // holds a value for each read that runs

	indexed bool // the file has the indexes of indexes.sql

	path string      // of the file, absolute
	file os.FileInfo // as it was opened; nil where it is only read

	still *still // the file is read as one that nothing changes; nil: as any other
}

// Open opens the file at path and creates what is missing, readable by its owner alone, because a
// ledger holds the jobs' metadata. An existing file keeps its mode, and SQLite gives the files
// beside it the same. now is the store's clock; every process that shares the file must use the
// same. The database of another program is refused, and so is a path where the log of a file lies that
// is gone.
func Open(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	s := &Store{now: now, clock: newClock(now), queries: new(prepared), slots: make(chan struct{}, readers)}
	err := create(ctx, path)
	if err == nil {
		s.write, err = s.open(path, 1, busyStep)
	}
	if err == nil {
		s.read, err = s.open(path, readers+2, busyTimeout) // two for a backup and for Expire
	}
	if err == nil {
		err = s.migrate(ctx)
	}
	if err == nil {
		// A file for what savepoints may undo cost a sixth of a delivery. The migration sorts on disk.
		_, err = s.write.ExecContext(ctx, "PRAGMA temp_store = MEMORY")
	}
	if err == nil {
		s.indexed = true
		err = s.prepare(ctx)
	}
	if err == nil {
		err = s.clock.load(ctx, s.read)
	}
	if err == nil {
		s.path, err = filepath.Abs(path)
	}
	if err == nil {
		s.file, err = os.Stat(s.path)
	}
	if resultCode(err) == sqlite3.SQLITE_NOTADB {
		err = fmt.Errorf("%w: name another file", err)
	}
	if resultCode(err) == sqlite3.SQLITE_CANTOPEN {
		err = fmt.Errorf("%w: it must be a file, in a directory that exists and that one may write in", err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the ledger in %s: %w", path, diskRemedy(err)), s.Close())
	}
	return s, nil
}

// open opens the file, which create has made.
func (s *Store) open(path string, connections int, busy time.Duration) (*sql.DB, error) {
	dsn, err := sourceOf(path, url.Values{
		"mode":    {"rw"}, // it is never made here: it may have been moved since InPlace looked for it
		"_txlock": {"immediate"},
		// In an empty file the kind of vacuum must be set before anything is written. A file of an older
		// revision keeps its own, and a backup of it has this one.
		"_pragma": {pragmaBusy(busy), "auto_vacuum(INCREMENTAL)", "journal_mode(WAL)", "synchronous(FULL)"},
	})
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{s, dsn})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

func pragmaBusy(d time.Duration) string { return fmt.Sprintf("busy_timeout(%d)", d.Milliseconds()) }

func connect(path string, parameters url.Values) (*sql.DB, error) {
	dsn, err := sourceOf(path, parameters)
	if err != nil {
		return nil, err
	}
	return sql.Open("sqlite", dsn)
}

// sourceOf returns SQLite's name of the file at path, with parameters for the connections to it.
func sourceOf(path string, parameters url.Values) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	query := strings.ReplaceAll(parameters.Encode(), "+", "%20") // SQLite takes + for itself, not for a space
	return (&url.URL{Scheme: "file", Path: absolute, RawQuery: query}).String(), nil
}

// migrate brings the file to this schema. Two processes may start at once: each step is a transaction.
// In a large file of an older revision an index takes a while, and others commit between two of them.
func (s *Store) migrate(ctx context.Context) error {
	err := s.transact(ctx, func(tx *sql.Tx) error {
		empty, err := checkSchema(ctx, tx)
		if err == nil && empty {
			_, err = tx.ExecContext(ctx, schema+indexesText+fmt.Sprintf("\nPRAGMA user_version = %d;", schemaVersion))
		}
		if err == nil && !empty {
			err = addClock(ctx, tx)
		}
		return err
	})
	if err != nil {
		return err
	}
	if all, err := hasIndexes(ctx, s.write); err != nil || all {
		return err
	}
	for _, index := range indexes() {
		if err := s.transact(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, index.sql)
			return err
		}); err != nil {
			return fmt.Errorf("making the index %s: %w", index.name, err)
		}
	}
	return nil
}

// addClock adds what a file of an older revision lacks: when its clock was highest, and when it leapt.
func addClock(ctx context.Context, tx *sql.Tx) error {
	var there bool
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM pragma_table_info('sequence') WHERE name = 'leapt'").Scan(&there)
	if err != nil || there {
		return err
	}
	_, err = tx.ExecContext(ctx, `ALTER TABLE sequence ADD COLUMN highest INTEGER NOT NULL DEFAULT 0;
		ALTER TABLE sequence ADD COLUMN leapt INTEGER NOT NULL DEFAULT 0`)
	return err
}

// An index is a statement of indexes.sql, and the name of what it makes.
type index struct{ name, sql string }

// indexes returns what indexes.sql makes.
func indexes() []index {
	var all []index
	for _, text := range strings.SplitAfter(indexesText, ";\n") {
		if _, rest, ok := strings.Cut(text, "IF NOT EXISTS "); ok {
			name, _, _ := strings.Cut(rest, " ")
			all = append(all, index{name, text})
		}
	}
	return all
}

// checkSchema returns an error for the file of another program or of another schema, and reports
// whether there is nothing in the file yet.
func checkSchema(ctx context.Context, db interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (empty bool, err error) {
	var version, tables int
	const both = "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version"
	if err := db.QueryRowContext(ctx, both).Scan(&version, &tables); err != nil {
		return false, err
	}
	switch {
	case version == schemaVersion:
		return false, nil
	case version == 0 && tables > 0:
		return false, errors.New("the file is a database of another program: name another file")
	case version == 0:
		return true, nil
	}
	return false, fmt.Errorf("the file has schema %d and this program knows %d: use the program that wrote it, or "+
		"another file", version, schemaVersion)
}

func (s *Store) transact(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.begin(ctx)
	if err == nil {
		if err = do(tx); err != nil {
			err = rollBack(tx, err)
		} else {
			err = tx.Commit()
		}
	}
	if err != nil && ctx.Err() != nil { // SQLite and database/sql may not say that this is why
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// rollBack ends tx without a commit, and returns why with what failed. Where the context has ended, database/sql has
// rolled back; where the disk is full, SQLite has, and says that no transaction is active.
func rollBack(tx *sql.Tx, why error) error {
	undone := tx.Rollback()
	if errors.Is(undone, sql.ErrTxDone) || onDisk(why) {
		return why
	}
	return errors.Join(why, undone)
}

// begin waits until no other process commits, for at most busyTimeout or until ctx ends.
func (s *Store) begin(ctx context.Context) (*sql.Tx, error) {
	for giveUp := time.Now().Add(busyTimeout); ; {
		tx, err := s.write.BeginTx(ctx, nil)
		if err == nil || resultCode(err) != sqlite3.SQLITE_BUSY || time.Now().After(giveUp) {
			return tx, err
		}
	}
}

// Close waits until no commit waits, and closes the file. SQLite leaves the log of a file that was moved
// where it was, so its commits are first brought into the file; the error says where that fails.
func (s *Store) Close() error {
	s.queue.leader.Wait()
	var errs []error
	if s.read != nil {
		errs = append(errs, s.read.Close())
	}
	if s.write != nil {
		if s.InPlace() != nil {
			errs = append(errs, s.emptyLog(context.Background()))
		}
		errs = append(errs, s.write.Close())
	}
	return errors.Join(errs...)
}

// classify wraps an error of SQLite in the ledger's error for it.
func classify(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ledger.ErrConflict), errors.Is(err, ledger.ErrInvalid),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	default:
		return fmt.Errorf("%s: %w: %w", doing, ledger.ErrUnavailable, diskRemedy(err))
	}
}

// onDisk reports whether the disk causes an error of SQLite. A full disk is SQLITE_FULL or, for the files beside the
// ledger's, one of the many kinds of SQLITE_IOERR.
func onDisk(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR
}

// diskRemedy adds what to do to an error that the disk causes.
func diskRemedy(err error) error {
	if !onDisk(err) {
		return err
	}
	return fmt.Errorf("%w: the disk that holds the ledger is full, or cannot be read or written: free space, and try "+
		"again", err)
}

// resultCode returns SQLite's primary result code of err, or SQLITE_OK where err is not SQLite's.
func resultCode(err error) int {
	if sqliteErr, ok := errors.AsType[*sqlite.Error](err); ok {
		return sqliteErr.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}
