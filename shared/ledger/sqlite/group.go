package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/opledger/opledger/shared/ledger"
)

// The bounds of one group, so that no caller waits for many others.
const (
	maxMembers    = 64
	maxGroupBytes = 4 << 20
)

// A member is one caller's writes, which are made all or none.
type member struct {
	// write makes the writes, under this version. ErrConflict: a precondition does not hold.
	write func(ctx context.Context, tx *sql.Tx, version int64) error
	bytes int
	// single: it makes one write at most, so that a conflict leaves nothing to undo.
	single bool
	// done receives the answer, once, after the group is on disk or is rolled back.
	done chan error
	// state leaves waiting once: to written by a group, or to left by a caller whose context ends.
	state atomic.Int32
}

const (
	waiting int32 = iota
	written
	left
)

// A queue gathers the members that wait for the file while a group is written. Together they cost
// one transaction and one fsync. A member that arrives while nothing is written waits for no other.
type queue struct {
	mu      sync.Mutex
	waiting []*member
	leading bool
	leader  sync.WaitGroup
}

// join makes m's writes in the next group and waits for them to be on disk. A caller whose ctx ends
// leaves alone: the group continues under a context of its own, because an interrupted statement
// rolls back what others wrote. Its writes are left out if the group has not come to them yet.
func (s *Store) join(ctx context.Context, m *member) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.done = make(chan error, 1)
	s.queue.add(m, s.lead)
	select {
	case err := <-m.done:
		return err
	case <-ctx.Done():
		if m.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		return fmt.Errorf("%w; the writes may have been made", ctx.Err())
	}
}

// add queues m, and starts a leader where there is none.
func (q *queue) add(m *member, lead func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, m)
	if !q.leading {
		q.leading = true
		q.leader.Go(lead)
	}
}

// next returns the members of the next group; none where no commit waits, and then the leader is
// done.
func (q *queue) next() []*member {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.DeleteFunc(q.waiting, func(m *member) bool { return m.state.Load() == left })
	n, bytes := 0, 0
	for n < len(q.waiting) && n < maxMembers && (n == 0 || bytes+q.waiting[n].bytes <= maxGroupBytes) {
		bytes += q.waiting[n].bytes
		n++
	}
	group := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	if n == 0 {
		q.waiting, q.leading = nil, false
	}
	return group
}

// lead writes group after group until no member waits. Between two groups it lets other goroutines run: those that are
// about to commit join the next group, so that there are fewer groups where the processors are busy.
func (s *Store) lead() {
	for group := s.queue.next(); len(group) > 0; group = s.queue.next() {
		s.commit(group)
		runtime.Gosched()
	}
}

// commit writes a group and answers its members. Where the group is rolled back for another reason
// than a conflict, each member is tried alone, so that one member's error is its own. Where it did not
// begin, because another process holds the file, no member would begin sooner alone.
func (s *Store) commit(group []*member) {
	answers, began, err := s.together(group)
	if err != nil && began && len(group) > 1 {
		for _, m := range group {
			s.commit([]*member{m})
		}
		return
	}
	for i, m := range group {
		if err != nil {
			m.done <- err
		} else {
			m.done <- answers[i]
		}
	}
}

// together writes a group in one transaction and returns an answer for each member: nil,
// ErrConflict, or, for all of them, the error of a COMMIT whose outcome is not known. With an error
// nothing was written. A panic is such an error: the members must not wait for an answer that never
// comes.
func (s *Store) together(group []*member) (answers []error, began bool, err error) {
	var tx *sql.Tx
	defer func() {
		if p := recover(); p != nil {
			began, err = true, fmt.Errorf("writing to the ledger panicked: %v\n%s", p, debug.Stack())
		}
		if err != nil && tx != nil {
			if undone := tx.Rollback(); !errors.Is(undone, sql.ErrTxDone) {
				err = errors.Join(err, undone)
			}
		}
	}()
	if err = s.InPlace(); err != nil {
		return nil, false, err
	}
	ctx := context.Background()
	if tx, err = s.begin(ctx); err != nil {
		return nil, false, err
	}
	var last int64
	now, fresh, leapt := s.clock.stamp()
	if err = tx.StmtContext(ctx, s.next).QueryRowContext(ctx, len(group), now, fresh, leapt).Scan(&last); err != nil {
		return nil, true, err
	}
	answers = make([]error, len(group))
	skipped := 0
	for i, m := range group {
		if !m.state.CompareAndSwap(waiting, written) && m.state.Load() == left {
			skipped++
			continue
		}
		answers[i], err = s.writeMember(ctx, tx, m, last-int64(len(group)-1-i), len(group) == 1 || m.single)
		if err != nil {
			return nil, true, err
		}
		if answers[i] != nil {
			skipped++
		}
	}
	if skipped == len(group) {
		return answers, true, tx.Rollback()
	}
	if failed := tx.Commit(); failed != nil {
		for i := range answers {
			answers[i] = failed
		}
		return answers, true, nil
	}
	s.clock.stored(leapt)
	return answers, true, nil
}

// writeMember returns m's conflict, after which nothing of m is in the transaction. Any other error
// is the group's.
func (s *Store) writeMember(
	ctx context.Context, tx *sql.Tx, m *member, version int64, alone bool,
) (conflict, err error) {
	if !alone {
		if _, err := tx.StmtContext(ctx, s.savepoint).ExecContext(ctx); err != nil {
			return nil, err
		}
	}
	err = m.write(ctx, tx, version)
	if err != nil && !errors.Is(err, ledger.ErrConflict) {
		return nil, err
	}
	conflict = err
	if !alone && conflict != nil {
		if _, err := tx.StmtContext(ctx, s.undo).ExecContext(ctx); err != nil {
			return nil, errors.Join(conflict, err)
		}
	}
	if !alone {
		_, err = tx.StmtContext(ctx, s.release).ExecContext(ctx)
		return conflict, err
	}
	return conflict, nil
}
