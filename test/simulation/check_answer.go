package simulation

import (
	"strings"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// The published costs of calls that nothing disturbed, in RPCs, documents read and documents written.
var (
	costOfRegister  = cost{calls: 2, reads: 1, writes: 1}
	costOfWebhook   = cost{calls: 2, reads: 2, writes: 3}
	costOfDuplicate = cost{calls: 1, reads: 2}
	costOfDrop      = cost{calls: 2, reads: 2, writes: 1}
	costOfConflict  = cost{calls: 2, reads: 2, writes: 2}
	costOfEffect    = cost{calls: 4, reads: 4, writes: 3}
)

// within checks the cost of a call against the published one.
func (c *checker) within(a *actor, what string, most cost) {
	ordinary := !a.disturbed.Load() && a.process.frozen.IsZero()
	if is := a.cost; ordinary && (is.calls > most.calls || is.reads > most.reads || is.writes > most.writes) {
		c.violated("%s: %s cost %+v, and %+v is published", a.name, what, is, most)
	}
}

// registered checks what a submitter is told of its registration.
func (c *checker) registered(a *actor, r ledger.Registered) {
	c.keeps(r.Record.Key)
	if r.Withheld > 0 || c.hadExpired(r.Record.Key) { // it looked for effects of before
		return
	}
	most := costOfRegister
	most.writes += r.Planned // where its end is known already
	c.within(a, "a registration", most)
}

// keeps checks that an operation whose registration was answered is registered.
func (c *checker) keeps(key operation.Key) {
	c.w.store.mu.RLock()
	rec, _ := dataOf[operation.Record](c.w.store.documents[ledger.OperationPath(key)])
	c.w.store.mu.RUnlock()
	c.must(rec.Registered || c.hadExpired(key), "the registration of %s was answered, and is not stored [L2]", key)
}

// keepsDelivery checks that a delivery which was answered is stored.
func (c *checker) keepsDelivery(key operation.Key, id string) {
	c.w.store.mu.RLock()
	kept := false // or expired since it was read
	for path := range c.expired {
		kept = kept || strings.HasPrefix(string(path), string(ledger.OperationPath(key))+"/"+ledger.DeliveriesCollection+"/")
	}
	for path, d := range c.w.store.documents {
		seen, ok := d.data.(ledger.Delivery)
		kept = kept || ok && seen.ID == id && path.Parent() == ledger.OperationPath(key)
	}
	c.w.store.mu.RUnlock()
	c.must(kept || c.hadExpired(key), "delivery %s of %s was answered, and is not stored [W3]", id, key)
}

// hadExpired reports whether a record of the operation has expired.
func (c *checker) hadExpired(key operation.Key) bool {
	c.w.store.mu.RLock()
	defer c.w.store.mu.RUnlock()
	return c.expired[ledger.OperationPath(key)]
}

// ingested checks what became of a delivery.
func (c *checker) ingested(a *actor, e operation.Event, r ledger.Receipt) {
	c.keepsDelivery(r.Key, e.DeliveryID)
	c.mu.Lock()
	again := c.accepted[e.DeliveryID]
	c.accepted[e.DeliveryID] = again || r.Outcome != ledger.Duplicate
	c.mu.Unlock()
	if again && r.Outcome != ledger.Duplicate {
		c.violated("delivery %s was accepted, and is %s now [W4]", e.DeliveryID, r.Outcome)
	}
	switch {
	case !r.Registered || r.Bound || r.Correlated || r.Disputed != "":
	case r.Withheld > 0 || c.hadExpired(r.Key): // it looked for effects of before
	case r.Outcome == ledger.Duplicate:
		c.within(a, "a duplicate", costOfDuplicate)
	case r.Outcome == ledger.Dropped:
		c.within(a, "a drop", costOfDrop)
	case r.Outcome == ledger.Conflict:
		c.within(a, "a conflict", costOfConflict)
	default:
		most := costOfWebhook
		most.writes += max(r.Planned-1, 0)
		c.within(a, "a delivery", most)
	}
}

func (c *checker) ran(a *actor, r effect.Report) {
	rule := ledger.RuleOf(r.Lease.Effect)
	if r.Outcome == effect.Finished && rule != eachRule && !job.IsStep(rule) && r.Replay.Outcome == "" {
		c.within(a, "an effect", costOfEffect)
	}
}
