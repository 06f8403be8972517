package itemworld

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// A Killable is the store of a process that can be killed: nothing that it does afterwards is
// recorded.
type Killable struct {
	ledger.Store
	Dead atomic.Bool
}

// Commit implements ledger.Store.
func (k *Killable) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	if k.Dead.Load() {
		return nil, fmt.Errorf("%w: the process is dead", ledger.ErrInvalid) // which is not retried
	}
	return k.Store.Commit(ctx, writes...)
}

// Held runs do and returns the growth of the heap that do measured.
func Held(t testing.TB, do func(look func())) int64 {
	t.Helper()
	measure := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	before := measure()
	var peak atomic.Int64
	do(func() {
		now := measure() - before
		for old := peak.Load(); now > old && !peak.CompareAndSwap(old, now); old = peak.Load() {
		}
	})
	return peak.Load()
}
