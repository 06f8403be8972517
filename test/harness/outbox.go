package harness

import (
	"context"
	"slices"
	"sync"

	"github.com/opledger/opledger/shared/ledger"
)

// An Outbox is a ledger.Publisher that keeps what is published.
type Outbox struct {
	mu   sync.Mutex
	sent []ledger.Message
	err  error
}

// Publish keeps a message, or fails as Fail said.
func (o *Outbox) Publish(_ context.Context, m ledger.Message) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.sent = append(o.sent, m)
	}
	return o.err
}

// Fail makes every later Publish fail with err; with nil they succeed again.
func (o *Outbox) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

// All returns what was published.
func (o *Outbox) All() []ledger.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.sent)
}

// Drain returns what was published since the last Drain.
func (o *Outbox) Drain() []ledger.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := o.sent
	o.sent = nil
	return sent
}
