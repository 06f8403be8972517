package ledgertest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A move is something that a caller does with a ledger of its own.
type move func(l *ledger.Ledger) error

// race stops slow between its read and its commit, runs fast to its end, and lets slow continue:
// slow decided on outdated documents.
func (w *world) race(slow, fast move) (slowErr, fastErr error) {
	w.Helper()
	pause := PauseBeforeCommit(w.store)
	done := make(chan error, 1)
	l := w.over(pause)
	go func() { done <- slow(l) }()
	select {
	case <-pause.Reached():
	case err := <-done:
		w.Fatalf("the slow caller ended without a commit: %v", err)
	}
	fastErr = fast(w.ledger())
	pause.Resume()
	return <-done, fastErr
}

// mustRace is race for moves that must both succeed.
func (w *world) mustRace(slow, fast move) {
	w.Helper()
	if slowErr, fastErr := w.race(slow, fast); slowErr != nil || fastErr != nil {
		w.Fatalf("the slow caller: %v; the fast one: %v", slowErr, fastErr)
	}
}

// both returns a test for each of the two orders in which a and b can race. Both are created for
// each test, since they keep their results. check checks the end.
func both(name string, make func(w *world) (a, b move, check func())) []ledgerTest {
	return []ledgerTest{
		{name + ", the first is slow", func(w *world) {
			a, b, check := make(w)
			w.mustRace(a, b)
			check()
		}},
		{name + ", the second is slow", func(w *world) {
			a, b, check := make(w)
			w.mustRace(b, a)
			check()
		}},
	}
}

// crowd runs n concurrent callers, each with its own ledger, and returns their results in order.
// Errors end the test.
func crowd[T any](w *world, n int, do func(l *ledger.Ledger, i int) (T, error)) []T {
	w.Helper()
	results, errs := make([]T, n), make([]error, n)
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		l := w.ledger()
		group.Go(func() {
			<-start
			results[i], errs[i] = do(l, i)
		})
	}
	close(start)
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		w.Fatalf("of %d callers at once: %v", n, err)
	}
	return results
}

// count returns how many of items are as wanted.
func count[T any](items []T, wanted func(T) bool) int {
	n := 0
	for _, item := range items {
		if wanted(item) {
			n++
		}
	}
	return n
}

// outcomes counts receipts by outcome.
func outcomes(receipts []ledger.Receipt) map[ledger.Outcome]int {
	n := map[ledger.Outcome]int{}
	for _, r := range receipts {
		n[r.Outcome]++
	}
	return n
}

// equal reports a difference between what is and what should be.
func equal[T comparable](w *world, what string, got, want T) {
	w.Helper()
	if got != want {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

// near reports a duration that differs from want by more than the test itself may have
// taken.
func near(w *world, what string, got, want time.Duration) {
	w.Helper()
	const slack = 30 * time.Second
	if got < want-slack || got > want+slack {
		w.Errorf("%s: %v, want about %v", what, got, want)
	}
}

// between reports a duration that is shorter than least, or longer by more than one span.
func between(w *world, what string, got, least, span time.Duration) {
	w.Helper()
	if got < least || got > least+span+time.Minute {
		w.Errorf("%s: %v, want %v to %v", what, got, least, least+span)
	}
}

// published checks that since the last call exactly the given effects of the world's operation were
// published.
func (w *world) published(want ...string) {
	w.Helper()
	var got []string
	for _, m := range w.outbox.sent() {
		got = append(got, m.Effect)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.Errorf("published: %q, want %q", got, want)
	}
}

func isConflict(err error) bool { return errors.Is(err, ledger.ErrConflict) }
