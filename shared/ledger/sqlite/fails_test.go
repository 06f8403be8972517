package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// spoil replaces a statement by one that fails: it wants more values than any is given.
func spoil(t *testing.T, s *Store, statement **sql.Stmt) {
	t.Helper()
	fails, err := s.write.PrepareContext(t.Context(), "SELECT ?99")
	if err := errors.Join(err, (*statement).Close()); err != nil {
		t.Fatal(err)
	}
	*statement = fails
}

// TestStatementThatFails: whichever statement of a commit fails, its caller has that error, and nothing
// of it is written. What another caller wrote in the same transaction is.
func TestStatementThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		statement func(s *Store) **sql.Stmt
		token     bool // the write has one
		data      any
	}{
		"the next version":    {func(s *Store) **sql.Stmt { return &s.next }, true, doc{"y"}},
		"what is stored":      {func(s *Store) **sql.Stmt { return &s.stored }, true, doc{"y"}},
		"an update":           {func(s *Store) **sql.Stmt { return &s.update }, true, doc{"y"}},
		"a deletion":          {func(s *Store) **sql.Stmt { return &s.remove }, true, nil},
		"an insertion":        {func(s *Store) **sql.Stmt { return &s.insert }, false, doc{"y"}},
		"reading what is new": {func(s *Store) **sql.Stmt { return &s.get }, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTemp(t)
			tokens, err := s.Commit(t.Context(), ledger.Write{Path: "operations/a", Data: doc{"x"}})
			if err != nil {
				t.Fatal(err)
			}
			spoil(t, s, c.statement(s))
			fails := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, ledger.ErrUnavailable) || strings.Contains(err.Error(), "panicked") {
					t.Errorf("%s: %v, want ErrUnavailable", what, err)
				}
			}
			if !c.token && c.data == nil {
				_, err := s.Get(t.Context(), "operations/a")
				fails("Get", err)
				return
			}
			w := ledger.Write{Path: "operations/b", Data: c.data}
			if c.token {
				w.Path, w.Token = "operations/a", tokens[0]
			}
			_, err = s.Commit(t.Context(), w)
			fails("Commit", err)
			snapshot, err := s.Get(t.Context(), "operations/a", "operations/b")
			if a, b := snapshot.Documents[0], snapshot.Documents[1]; err != nil || a.Token != tokens[0] || b.Exists() {
				t.Errorf("afterwards a has version %s, b is there: %v, %v", a.Token, b.Exists(), err)
			}
		})
	}
}

// TestUndoThatFails: where a conflicting member cannot be undone, no half of it stays.
func TestUndoThatFails(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	spoil(t, s, &s.undo)
	half, conflict := put(t, s, "operations/half"), fail(ledger.ErrConflict)
	both := &member{write: func(ctx context.Context, tx *sql.Tx, version int64) error {
		return errors.Join(half.write(ctx, tx, version), conflict.write(ctx, tx, version))
	}}
	answers := asGroup(s, put(t, s, "operations/a"), both)
	if answers[0] != nil || !errors.Is(answers[1], ledger.ErrConflict) {
		t.Errorf("%v, want that the second conflicts", answers)
	}
	if !exists(t, s, "operations/a") || exists(t, s, "operations/half") {
		t.Error("a half of the conflicting member was written, or nothing of the other")
	}
}

// TestCommitThatFails: a group whose COMMIT fails is written for no member, and the next one is.
func TestCommitThatFails(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	for _, statement := range []string{
		"PRAGMA foreign_keys = ON", "CREATE TABLE parent (id INTEGER PRIMARY KEY)",
		"CREATE TABLE child (id INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)",
	} {
		if _, err := s.write.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	orphan := &member{single: true, write: func(ctx context.Context, tx *sql.Tx, _ int64) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO child VALUES (1)") // refused at the end
		return err
	}}
	for i, err := range asGroup(s, put(t, s, "operations/a"), orphan) {
		if err == nil || errors.Is(err, ledger.ErrConflict) {
			t.Errorf("member %d: %v, want that the commit failed", i, err)
		}
	}
	if exists(t, s, "operations/a") {
		t.Error("it was written, although the commit failed")
	}
	if err := s.join(t.Context(), put(t, s, "operations/b")); err != nil || !exists(t, s, "operations/b") {
		t.Errorf("the next group: %v", err)
	}
}

// TestTransactionThatIsGone: after an error that made SQLite roll the transaction back, as where the
// disk is full, nothing more is written in it.
func TestTransactionThatIsGone(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	full := errors.New("the disk is full")
	gone := &member{single: true, write: func(ctx context.Context, tx *sql.Tx, _ int64) error {
		_, err := tx.ExecContext(ctx, "ROLLBACK")
		return errors.Join(full, err)
	}}
	answers := asGroup(s, gone, put(t, s, "operations/a"))
	if !errors.Is(answers[0], full) || answers[1] != nil || !exists(t, s, "operations/a") {
		t.Errorf("%v, want the error of the first alone", answers)
	}
}

// TestGroupIsOneTransaction: no member of a group is written twice because another one conflicts.
func TestGroupIsOneTransaction(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	a, writes := put(t, s, "operations/a"), 0
	write := a.write
	a.write = func(ctx context.Context, tx *sql.Tx, version int64) error {
		writes++
		return write(ctx, tx, version)
	}
	if answers := asGroup(s, a, fail(ledger.ErrConflict)); answers[0] != nil || writes != 1 {
		t.Errorf("%v after %d writes, want one", answers, writes)
	}
}

// TestJoinAfterTheEnd: a caller whose time is over does not even queue.
func TestJoinAfterTheEnd(t *testing.T) {
	t.Parallel()
	s := &Store{queue: queue{leading: true}} // no leader starts
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.join(ctx, fail(nil)); !errors.Is(err, context.Canceled) || len(s.queue.waiting) > 0 {
		t.Errorf("%v, and %d wait", err, len(s.queue.waiting))
	}
}

// TestTransactCutOff: a transaction that ends with its context says so, whatever SQLite says.
func TestTransactCutOff(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	ctx, cancel := context.WithCancel(t.Context())
	odd := errors.New("interrupted")
	err := s.transact(ctx, func(*sql.Tx) error {
		cancel()
		return odd
	})
	if !errors.Is(err, odd) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context, too", err)
	}
}

// TestExpireThatFails: it counts nothing, and says why.
func TestExpireThatFails(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	if _, err := s.write.ExecContext(t.Context(), "DROP TABLE documents"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Expire(t.Context()); n != 0 || !errors.Is(err, ledger.ErrUnavailable) ||
		!strings.Contains(err.Error(), "no such table") {
		t.Errorf("%d, %v, want ErrUnavailable", n, err)
	}
}
