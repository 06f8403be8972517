package ledgertest

import (
	"context"
	"sync"

	"github.com/opledger/opledger/shared/ledger"
)

// Counts are the calls of a store.
type Counts struct {
	Gets, Queries, Commits int
	Counted                int // calls of Count
	Writes                 int // documents in those commits
	Conflicts              int // commits that lost a race
	Read                   int // documents that Get and Query returned and that exist
}

// A Counting is a store that counts. It is safe for concurrent use.
type Counting struct {
	ledger.Store
	mu     sync.Mutex
	counts Counts
}

// Count returns store with counters.
func Count(store ledger.Store) *Counting { return &Counting{Store: store} }

// Counts returns what was counted so far.
func (c *Counting) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Reset sets the counts to zero.
func (c *Counting) Reset() { c.add(func(n *Counts) { *n = Counts{} }) }

func (c *Counting) add(change func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.counts)
}

// Get is the store's Get, counted.
func (c *Counting) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot, err := c.Store.Get(ctx, paths...)
	c.add(func(n *Counts) {
		n.Gets++
		for _, d := range snapshot.Documents {
			if d.Exists() {
				n.Read++
			}
		}
	})
	return snapshot, err
}

// Query is the store's Query, counted.
func (c *Counting) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	found, err := c.Store.Query(ctx, q)
	c.add(func(n *Counts) {
		n.Queries++
		n.Read += len(found)
	})
	return found, err
}

// Count is the store's Count, counted.
func (c *Counting) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	found, err := c.Store.Count(ctx, q, ceiling)
	c.add(func(n *Counts) { n.Counted++ })
	return found, err
}

// Commit is the store's Commit, counted.
func (c *Counting) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	tokens, err := c.Store.Commit(ctx, writes...)
	c.add(func(n *Counts) {
		n.Commits++
		n.Writes += len(writes)
		if isConflict(err) {
			n.Conflicts++
		}
	})
	return tokens, err
}
