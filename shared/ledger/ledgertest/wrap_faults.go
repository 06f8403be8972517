package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/opledger/opledger/shared/ledger"
)

// A Fault is one way for a commit to go wrong.
type Fault int

// The faults.
const (
	// None lets the commit pass.
	None Fault = iota
	// FailBefore answers ledger.ErrUnavailable and writes nothing: the store was down.
	FailBefore
	// LoseAnswer commits and answers ledger.ErrUnavailable: the connection broke at the worst
	// moment.
	LoseAnswer
	// Abort answers ledger.ErrConflict and writes nothing: a lost race, or a server that aborts
	// under load.
	Abort
	// RepeatItself commits and answers ledger.ErrConflict: a client library that lost the answer,
	// sent the same commit again by itself, and met its own documents.
	RepeatItself
)

func (f Fault) String() string {
	return [...]string{"none", "fail before the commit", "lose the answer", "abort", "repeat itself"}[f]
}

// errInjected marks every error that a Faulty makes up.
var errInjected = errors.New("injected by the test")

// A Faulty is a store whose commits go wrong as planned. It is safe for concurrent use.
type Faulty struct {
	ledger.Store
	mu   sync.Mutex
	next func() Fault
}

// Inject returns a store whose next commits meet the given faults, one each; those behind pass.
func Inject(store ledger.Store, faults ...Fault) *Faulty {
	return InjectFunc(store, func() Fault {
		if len(faults) == 0 {
			return None
		}
		f := faults[0]
		faults = faults[1:]
		return f
	})
}

// InjectFunc returns a store each of whose commits meets the fault that next returns. Calls of next
// do not overlap.
func InjectFunc(store ledger.Store, next func() Fault) *Faulty {
	return &Faulty{Store: store, next: next}
}

// Times returns f n times, for Inject.
func Times(n int, f Fault) []Fault {
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = f
	}
	return faults
}

// Commit is the store's Commit with the next fault.
func (s *Faulty) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	s.mu.Lock()
	fault := s.next()
	s.mu.Unlock()
	switch fault {
	case FailBefore:
		return nil, fmt.Errorf("%w: %w", ledger.ErrUnavailable, errInjected)
	case Abort:
		return nil, fmt.Errorf("%w: %w", ledger.ErrConflict, errInjected)
	case LoseAnswer, RepeatItself:
		if _, err := s.Store.Commit(ctx, writes...); err != nil {
			return nil, err
		}
		if fault == LoseAnswer {
			return nil, fmt.Errorf("%w: %w", ledger.ErrUnavailable, errInjected)
		}
		return nil, fmt.Errorf("%w: %w", ledger.ErrConflict, errInjected)
	default:
		return s.Store.Commit(ctx, writes...)
	}
}
