package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

type doc struct{ Text string }

func put(t *testing.T, s *Store, path ledger.Path) *member {
	t.Helper()
	r, err := encode(ledger.Write{Path: path, Data: doc{"x"}})
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

// TestGroupCallerLeaves: a caller that leaves while another group is written leaves nothing behind,
// and neither stops nor splits the writes of others.
func TestGroupCallerLeaves(t *testing.T) {
	t.Parallel()
	s := openTemp(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	slow := put(t, s, "operations/a")
	write := slow.write
	var leaving error
	slow.write = func(groupCtx context.Context, tx *sql.Tx, version int64) error {
		leave() // before the group comes to the next member
		leaving = s.join(ctx, put(t, s, "operations/never"))
		return write(groupCtx, tx, version)
	}
	gone := put(t, s, "operations/left")
	gone.state.Store(left)
	answers := asGroup(s, slow, gone, put(t, s, "operations/b"))
	if answers[0] != nil || answers[2] != nil || !errors.Is(leaving, context.Canceled) {
		t.Errorf("%v, %v, want the others written and the end of the context", answers, leaving)
	}
	if exists(t, s, "operations/left") || exists(t, s, "operations/never") {
		t.Error("what a caller left behind was written")
	}
	if !exists(t, s, "operations/a") || !exists(t, s, "operations/b") {
		t.Error("what the others wrote is missing")
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
