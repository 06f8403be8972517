package linearizability

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
)

// The guards that can be taken out, to prove that the histories show it.
const (
	noPreconditions = "no preconditions" // a commit holds whatever was written since the read
	fastClock       = "a fast clock"     // the store's, as one process sees it, so that every lease is over
)

// breakGuard returns the store without the guard.
func breakGuard(store ledger.Store, guard string) ledger.Store {
	switch guard {
	case noPreconditions:
		return careless{store}
	case fastClock:
		skewed := ledgertest.Skew(store)
		skewed.Advance(time.Hour)
		return skewed
	default:
		return store
	}
}

// A careless is a store that writes over whatever is there.
type careless struct{ ledger.Store }

// Commit is the store's, on the versions that are there now. It is made late, after the writes of
// others.
func (s careless) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	<-time.After(rand.N(2 * tick))
	paths := make([]ledger.Path, len(writes))
	for i, w := range writes {
		paths[i] = w.Path
	}
	snapshot, err := s.Get(ctx, paths...)
	if err != nil {
		return nil, err
	}
	for i := range writes {
		writes[i].Token = snapshot.Documents[i].Token
	}
	return s.Store.Commit(ctx, writes...)
}
