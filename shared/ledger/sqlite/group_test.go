package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

type doc struct{ Text string }

func put(t *testing.T, s *Store, path ledger.Path) *member {
	t.Helper()
	r, err := new(Store).encode(ledger.Write{Path: path, Data: doc{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	return &member{bytes: len(r.body), write: func(ctx context.Context, tx *sql.Tx, version int64) error {
		return s.put(ctx, tx, r, version)
	}}
}

func fail(err error) *member {
	return &member{write: func(context.Context, *sql.Tx, int64) error { return err }}
}

func openTemp(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// asGroup commits members as one group and returns their answers.
func asGroup(s *Store, members ...*member) []error {
	for _, m := range members {
		m.done = make(chan error, 1)
	}
	s.commit(members)
	answers := make([]error, len(members))
	for i, m := range members {
		answers[i] = <-m.done
	}
	return answers
}

func exists(t *testing.T, s *Store, path ledger.Path) bool {
	t.Helper()
	snapshot, err := s.Get(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Documents[0].Exists()
}

// TestGroupConflict: in a group, a member whose precondition fails conflicts alone, and nothing of
// it is written; the others are. Two writes of one group never have the same version.
func TestGroupConflict(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	first, second := put(t, s, "operations/half"), put(t, s, "operations/a")
	both := &member{write: func(ctx context.Context, tx *sql.Tx, version int64) error {
		if err := first.write(ctx, tx, version); err != nil {
			return err
		}
		return second.write(ctx, tx, version)
	}}
	answers := asGroup(s, put(t, s, "operations/a"), both, put(t, s, "operations/b"))
	if answers[0] != nil || !errors.Is(answers[1], ledger.ErrConflict) || answers[2] != nil {
		t.Fatalf("%v, want only the second to conflict", answers)
	}
	if exists(t, s, "operations/half") {
		t.Error("a half of the conflicting member was written")
	}
	snapshot, err := s.Get(t.Context(), "operations/a", "operations/b")
	if err != nil {
		t.Fatal(err)
	}
	a, b := snapshot.Documents[0].Token, snapshot.Documents[1].Token
	if a == "" || b == "" || a == b {
		t.Errorf("versions %q and %q, want two", a, b)
	}
}

// TestUndoInMemory: what a savepoint may undo is kept in memory, since a file for it costs time.
func TestUndoInMemory(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	const memory = 2
	var place int
	row := s.write.QueryRowContext(t.Context(), "PRAGMA temp_store")
	if err := row.Scan(&place); err != nil || place != memory {
		t.Errorf("temporary files are at %d, %v, want %d", place, err, memory)
	}
}

// TestGroupError: an error that is no conflict, or a panic, rolls the whole group back. Its members
// are repeated alone, so that it is one member's error.
func TestGroupError(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	broken := errors.New("disk I/O error")
	panicking := &member{write: func(context.Context, *sql.Tx, int64) error { panic("lost") }}
	answers := asGroup(s, put(t, s, "operations/a"), fail(broken), put(t, s, "operations/b"), panicking)
	if answers[0] != nil || !errors.Is(answers[1], broken) || answers[2] != nil ||
		answers[3] == nil || !strings.Contains(answers[3].Error(), "panicked: lost") {
		t.Fatalf("%v, want the errors of the second and the fourth", answers)
	}
	if !exists(t, s, "operations/a") || !exists(t, s, "operations/b") {
		t.Error("the other members were not written")
	}
}

// TestGroupCallerLeaves: a caller that leaves while another group is written leaves nothing behind, and
// neither stops nor halves what the others write.
func TestGroupCallerLeaves(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	slow, never, b := put(t, s, "operations/a"), put(t, s, "operations/never"), put(t, s, "operations/b")
	write, left := slow.write, make(chan error)
	var leaving error
	slow.write = func(groupCtx context.Context, tx *sql.Tx, version int64) error {
		go func() { left <- s.join(ctx, never) }()
		for queued := 0; queued == 0; runtime.Gosched() {
			s.queue.mu.Lock()
			queued = len(s.queue.waiting)
			s.queue.mu.Unlock()
		}
		leave()
		leaving = <-left
		return write(groupCtx, tx, version)
	}
	if err := errors.Join(s.join(t.Context(), slow), s.join(t.Context(), b)); err != nil {
		t.Errorf("the others: %v", err)
	}
	if !errors.Is(leaving, context.Canceled) || strings.Contains(leaving.Error(), "may have been made") {
		t.Errorf("the caller that left: %v, want the end of its context, and that nothing was written", leaving)
	}
	if exists(t, s, "operations/never") {
		t.Error("what a caller left behind was written")
	}
	if !exists(t, s, "operations/a") || !exists(t, s, "operations/b") {
		t.Error("what the others wrote is missing")
	}
}

// TestGroupCallerLeavesLate: a caller that leaves while its own writes are made is told that they may
// have been made; they are.
func TestGroupCallerLeavesLate(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	ctx, leave := context.WithCancel(t.Context())
	m, gone := put(t, s, "operations/a"), make(chan struct{})
	write := m.write
	m.write = func(groupCtx context.Context, tx *sql.Tx, version int64) error {
		leave()
		<-gone
		return write(groupCtx, tx, version)
	}
	err := s.join(ctx, m)
	close(gone)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "may have been made") {
		t.Errorf("%v, want the end of its context, and that the writes may have been made", err)
	}
	if err := s.join(t.Context(), put(t, s, "operations/b")); err != nil { // the group after it
		t.Error(err)
	}
	if !exists(t, s, "operations/a") {
		t.Error("its writes are missing")
	}
}

// TestGroupDoesNotBegin: where another process holds the file for too long, the members of a group are
// told so at once, and are not tried one after the other.
func TestGroupDoesNotBegin(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	if err := s.write.Close(); err != nil { // no transaction begins any more
		t.Fatal(err)
	}
	members := []*member{put(t, s, "operations/a"), put(t, s, "operations/b")}
	for _, m := range members {
		m.done = make(chan error, 1)
	}
	if _, began, err := s.together(members); began || err == nil {
		t.Errorf("it began: %v, %v", began, err)
	}
}

// TestGroupBounds: a group holds so many members and so many bytes, in the order in which they
// came; one larger than the bound goes alone.
func TestGroupBounds(t *testing.T) {
	t.Parallel()
	q := &queue{leading: true} // no leader starts
	for range maxMembers + 1 {
		q.add(&member{bytes: 1}, nil)
	}
	q.add(&member{bytes: maxGroupBytes + 1}, nil)
	var sizes []int
	for group := q.next(); len(group) > 0; group = q.next() {
		sizes = append(sizes, len(group))
	}
	if len(sizes) != 3 || sizes[0] != maxMembers || sizes[1] != 1 || sizes[2] != 1 {
		t.Errorf("groups of %v, want %d, 1, 1", sizes, maxMembers)
	}
	if q.leading {
		t.Error("the leader does not end")
	}
}
