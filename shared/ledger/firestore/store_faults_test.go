package firestore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/operation"
)

// TestWhatFaultsComeOutAs: the error and the outcome of each way in which a commit can fail.
func TestWhatFaultsComeOutAs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		faults  []fault
		want    error
		written bool
	}{
		{"nothing happens", nil, nil, true},
		{"the client repeats a commit that was not made", []fault{failBefore, failBefore}, nil, true},
		{"the client repeats what was refused for load", []fault{exhaust}, nil, true},
		{"a lost answer is neither a conflict nor invalid", []fault{loseAnswer}, ledger.ErrUnavailable, true},
		{"a lost answer after a repetition", []fault{failBefore, loseAnswer}, ledger.ErrUnavailable, true},
		{"a lost answer whose repetition fails", []fault{loseAnswer, failBefore, failBefore}, ledger.ErrUnavailable, true},
		{"an answer without a meaning", []fault{breakDown}, ledger.ErrUnavailable, true},
		{"an abort is a conflict", []fault{abort}, ledger.ErrConflict, false},
		{"a transaction that expired, in production's words", []fault{expire}, ledger.ErrUnavailable, false},
		{"too much for one transaction", []fault{overflow}, ledger.ErrTooBig, false},
		{"any other text about a transaction", []fault{overflowed}, ledger.ErrUnavailable, false},
		{"no permission", []fault{deny}, ledger.ErrUnavailable, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := opened(t, inject(test.faults...).dial())
			path := ledger.OperationPath("a")
			_, err := store.Commit(t.Context(), ledger.Write{Path: path, Data: fullRecord()})
			for _, is := range []error{ledger.ErrConflict, ledger.ErrInvalid, ledger.ErrTooBig, ledger.ErrUnavailable} {
				if errors.Is(err, is) != errors.Is(test.want, is) {
					t.Errorf("Commit: %v, want %v alone", err, test.want)
				}
			}
			if (err == nil) != (test.want == nil) {
				t.Errorf("Commit: %v, want %v", err, test.want)
			}
			if written := get(t, store, path).Exists(); written != test.written {
				t.Errorf("written: %v, want %v", written, test.written)
			}
		})
	}
}

// TestARepeatedCommitIsNoConflict: a precondition that does not hold is a conflict where the commit
// was sent once. Where it was sent again, the first one may have been made.
func TestARepeatedCommitIsNoConflict(t *testing.T) {
	t.Parallel()
	path := ledger.OperationPath("a")
	for _, test := range []struct {
		name  string
		first fault
		want  error
	}{
		{"sent once", none, ledger.ErrConflict},
		{"sent again after no answer", failBefore, ledger.ErrUnavailable},
		{"sent again after a refusal for load", exhaust, ledger.ErrUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			store := opened(t, inject(none, none, test.first, none, test.first, none, test.first, none).dial())
			commit(t, store, ledger.Write{Path: path, Data: fullRecord()})
			old := get(t, store, path).Token
			commit(t, store, ledger.Write{Path: path, Token: old, Data: operation.Record{Version: 8}})
			for what, w := range map[string]ledger.Write{
				"create": {Path: path, Data: fullRecord()},
				"update": {Path: path, Token: old, Data: fullRecord()},
				"delete": {Path: path, Token: old},
			} {
				if _, err := store.Commit(t.Context(), w); !errors.Is(err, test.want) ||
					errors.Is(err, ledger.ErrConflict) != (test.want == ledger.ErrConflict) { //nolint:errorlint // it is one of two
					t.Errorf("%s: %v, want %v alone", what, err, test.want)
				}
			}
		})
	}
}

// TestAStoreThatIsDown: a call without a deadline fails in bounded time, one with a deadline in its
// own.
func TestAStoreThatIsDown(t *testing.T) {
	t.Parallel()
	down := slices.Repeat([]fault{failBefore}, 1000)
	t.Run("the caller's deadline", func(t *testing.T) {
		t.Parallel()
		store := opened(t, inject(down...).dial())
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := store.Commit(ctx, ledger.Write{Path: ledger.OperationPath("a"), Data: fullRecord()})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("Commit: %v, want context.DeadlineExceeded alone", err)
		}
	})
	t.Run("no deadline", func(t *testing.T) {
		t.Parallel()
		if firestore.CommitTimeout > 10*time.Second {
			t.Errorf("a commit is repeated for %v, which is longer than most callers wait", firestore.CommitTimeout)
		}
		store := opened(t, inject(down...).dial())
		store.RepeatCommitsFor(300 * time.Millisecond)
		began := time.Now()
		_, err := store.Commit(t.Context(), ledger.Write{Path: ledger.OperationPath("a"), Data: fullRecord()})
		if took := time.Since(began); took > 30*time.Second { // the client itself repeats it for a minute
			t.Errorf("it took %v", took)
		}
		if !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Commit: %v, want ErrUnavailable alone", err)
		}
	})
}

// TestABrokenReadIsOfOneInstant: the client resumes a read whose answer breaks off, and so reads the
// rest later. What was written in between must not show in a half of the documents.
func TestABrokenReadIsOfOneInstant(t *testing.T) {
	t.Parallel()
	var w wires
	store := opened(t, w.options()...)
	a, b := ledger.OperationPath("a"), ledger.OperationPath("b")
	both := func(version int64, tokens ...ledger.Token) []ledger.Token {
		made, err := store.Commit(t.Context(),
			ledger.Write{Path: a, Token: tokens[0], Data: operation.Record{Key: "a", Version: version}},
			ledger.Write{Path: b, Token: tokens[1], Data: operation.Record{Key: "b", Version: version}})
		if err != nil {
			t.Error(err)
		}
		return made
	}
	tokens := both(1, "", "")
	s := &script{fault: wireFault{name: "broken", place: midwayLate, code: codes.Unavailable}, wires: &w}
	s.late = func() { both(2, tokens...) }
	ctx := s.begin(t.Context())
	defer s.end()
	snapshot, err := store.Get(ctx, a, b)
	if err != nil || s.injected != 1 {
		t.Fatalf("Get: %v, through %d faults", err, s.injected)
	}
	var first, second operation.Record
	if err := errors.Join(snapshot.Documents[0].Decode(&first), snapshot.Documents[1].Decode(&second)); err != nil {
		t.Fatal(err)
	}
	if first.Version != 2 || second.Version != 2 {
		t.Errorf("of two documents of one commit the versions %d and %d were read", first.Version, second.Version)
	}
}
