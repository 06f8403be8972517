package local

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/opledger/opledger/shared/ledger"
)

// An unreliable publisher loses and repeats messages. A queue with at-least-once delivery may
// repeat them, and a process that dies between commit and publish loses them.
type unreliable struct {
	next         ledger.Publisher // set by before
	lose, repeat float64

	mu     sync.Mutex
	random *rand.Rand

	lost, repeated atomic.Int64
}

func newUnreliable(seed uint64, faults string) *unreliable {
	u := &unreliable{random: rand.New(rand.NewPCG(seed, 2))}
	switch faults {
	case "normal":
		u.lose, u.repeat = 0.02, 0.05
	case "harsh":
		u.lose, u.repeat = 0.15, 0.3
	}
	return u
}

// before puts it before next, and returns it.
func (u *unreliable) before(next ledger.Publisher) ledger.Publisher {
	u.next = next
	return u
}

func (u *unreliable) Publish(ctx context.Context, m ledger.Message) error {
	u.mu.Lock()
	fate := u.random.Float64()
	u.mu.Unlock()
	switch {
	case fate < u.lose:
		u.lost.Add(1)
		return nil
	case fate < u.lose+u.repeat:
		u.repeated.Add(1)
		if err := u.next.Publish(ctx, m); err != nil {
			return err
		}
	}
	return u.next.Publish(ctx, m)
}
