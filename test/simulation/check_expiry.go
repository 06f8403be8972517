package simulation

import (
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// expires checks a document that the store deletes: nothing waits for it, and nothing is DEAD [L3].
func (c *checker) expires(s *store, d *document) {
	c.must(!d.waits() && d.times.DueAt.IsZero(), "%s expires, and is open [L3]", d.path)
	now := time.Now()
	c.must(s.clock.ranEvenly(now) >= stillFor, "%s expires, and the clock leapt on this day [L3]", d.path)
	c.must(!now.Before(d.until.Add(-stillFor)), "%s expires %v too early [L3]", d.path, d.until.Sub(now))
	switch data := d.data.(type) {
	case operation.Record:
		c.w.gate.met[metRecordExpired]++
		c.must(!data.Registered || data.Closed(), "%s expires, and is not closed [L3]", d.path)
		for _, other := range s.documents {
			e, ok := other.data.(ledger.Effect)
			if ok && e.Operation == data.Key {
				c.must(!toBeDone(e) && !deadLetter(e), "%s expires, and its effect %s is %s [L3]", d.path, e.Name, e.State)
			}
			if seen, ok := other.data.(ledger.Delivery); ok && other.path.Parent() == d.path {
				c.forget(seen)
			}
		}
		c.w.gemini.asked[data.Key] = 0
	case ledger.Effect:
		c.w.gate.met[metEffectExpired]++
		c.must(!deadLetter(data), "%s expires, and is DEAD [L3]", d.path)
		// An alert about a record that is new may have the same number, and is another.
		delete(c.fences, d.path)
		r, keys := c.w.receiver, c.keysOf(data)
		r.receipts = slices.DeleteFunc(r.receipts, func(r receipt) bool { return slices.Contains(keys, r.key) })
	case ledger.Item:
		e, _ := dataOf[ledger.Effect](s.documents[ledger.EffectPath(data.Operation, data.Effect)])
		c.must(data.State != ledger.ItemFailed || !toBeDone(e) && !deadLetter(e),
			"%s is FAILED and expires, and its effect is %s [L3]", d.path, e.State)
	case ledger.Delivery:
		c.forget(data)
	}
}

// deadLetter reports whether an operator has to decide about an effect.
func deadLetter(e ledger.Effect) bool { return e.State == ledger.EffectDead && e.Abandoned == nil }

// forget has a delivery recognised no more: it is of a record that has expired, or has expired.
func (c *checker) forget(seen ledger.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.accepted, seen.ID)
}

// planned checks an effect that a commit plans: none is planned that was DONE, also once it has
// expired [L3, S7]; but for alerts.
func (c *checker) planned(path ledger.Path, is ledger.Effect) {
	c.must(is.Name != publishRule || !c.done[path], "%s is planned, and was DONE [L3, S7]", path)
}
