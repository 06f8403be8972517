package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// unfinished returns what is left to do in the world; empty where it is at rest.
func (c *checker) unfinished() string {
	var left []string
	for _, path := range slices.Sorted(maps.Keys(c.w.store.documents)) {
		if text := c.open(c.w.store.documents[path]); text != "" {
			left = append(left, text)
		}
	}
	for _, s := range c.w.submissions {
		if text := c.openJob(s); text != "" {
			left = append(left, text)
		}
	}
	for _, o := range c.w.orders {
		if !o.over {
			left = append(left, o.id+" may be submitted")
		}
		for _, j := range o.batches {
			if rec, _ := c.recordOf(j); !o.promised() || rec.Registered || c.forgotten(j) {
				continue
			}
			left = append(left, fmt.Sprintf("%s, which %s started, is not registered", short(j.name.Key), o.id))
		}
	}
	return strings.Join(left, "; ")
}

// open returns what a document still waits for.
func (c *checker) open(d *document) string {
	if c.far(d) {
		return fmt.Sprintf("%s is due at %v", short(d.path), d.times.DueAt)
	}
	switch data := d.data.(type) {
	case ledger.Effect:
		if d.waits() {
			return fmt.Sprintf("%s is %s", short(d.path), data.State)
		}
	case operation.Record:
		j := c.batchOf(data.Key)
		switch {
		case !data.Registered || data.Settled(), data.Collection == operation.Jobs:
		case j == nil:
			return fmt.Sprintf("%s is no batch", data.Key)
		case !j.ends.IsZero():
			return fmt.Sprintf("%s is %s", short(d.path), data.State)
		case data.StuckSince.IsZero():
			return fmt.Sprintf("%s is %s, and not found stuck", short(d.path), data.State)
		}
	case ledger.Intent:
		if d.waits() {
			return fmt.Sprintf("%s is OPEN", short(d.path))
		}
	}
	return ""
}

// toBeDone reports whether an effect is open.
func toBeDone(e ledger.Effect) bool {
	return e.State == ledger.EffectPending || e.State == ledger.EffectClaimed
}

// forgotten reports whether a record of the batch has expired.
func (c *checker) forgotten(j *batch) bool { return c.expired[ledger.OperationPath(j.name.Key)] }

// waits reports whether something is still to be done about a document, by any pass.
func (d *document) waits() bool {
	switch data := d.data.(type) {
	case ledger.Effect:
		return toBeDone(data)
	case operation.Record:
		return data.Registered && !data.Settled() && data.Abandoned == nil
	case ledger.Intent:
		return data.State == ledger.IntentOpen
	default:
		return false
	}
}

func (c *checker) batchOf(key operation.Key) *batch {
	for _, j := range c.w.gemini.batches {
		if j.name.Key == key {
			return j
		}
	}
	return nil
}

func (c *checker) recordOf(j *batch) (operation.Record, bool) {
	return dataOf[operation.Record](c.w.store.documents[ledger.OperationPath(j.name.Key)])
}

// promised reports whether the ledger promises that the order's batch is registered: its intent was
// recorded before it was submitted [G6]. A submitter without an intent must register it itself [L2].
func (o *order) promised() bool { return o.intent || o.registered }

// end checks what must hold when the world has come to rest.
func (c *checker) end() {
	for _, s := range c.w.submissions {
		c.endJob(s)
	}
	for _, o := range c.w.orders {
		if len(o.batches) > 1 {
			c.violated("%s was submitted %d times under one correlation id [G6]", o.id, len(o.batches))
		}
		for _, j := range o.batches {
			if o.promised() {
				c.batch(j)
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.w.store.documents)) {
		d := c.w.store.documents[path]
		if !d.times.DueAt.IsZero() && !d.times.ExpireAt.IsZero() {
			c.violated("%s is due and expires [L3]", path)
		}
		if d.waits() && d.times.DueAt.IsZero() {
			c.violated("%s is open and not due [R5]", path)
		}
		c.must(!c.far(d), "%s is due at %v, later than it can be [R6]", path, d.times.DueAt)
		if e, ok := d.data.(ledger.Effect); ok {
			c.performed(e)
		}
	}
	c.visible()
	c.asked()
}

// batch checks that a batch's end is in the ledger, with its effect.
func (c *checker) batch(j *batch) {
	rec, ok := c.recordOf(j)
	switch {
	case !rec.Registered && c.forgotten(j):
	case !ok || !rec.Registered:
		c.violated("%s is lost: it is not registered [G6, L2]", j.name.Key)
	case j.ends.IsZero() && !rec.Settled() && rec.DueAt.IsZero():
		c.violated("%s is pending and has no dueAt [R2]", j.name.Key)
	case j.ends.IsZero() && !rec.StuckSince.IsZero() && rec.Effects[pageRule+"@stuck-1"] == "":
		c.violated("%s is stuck, and no alert says so [R4]", j.name.Key)
	case j.ends.IsZero():
	case rec.State != j.end && !(j.forged && rec.State == other(j.end)):
		c.violated("%s ended %s, and the ledger says %s [R2]", j.name.Key, j.end, rec.State)
	case rec.Effects[publishRule] == "":
		c.violated("%s ended, and its effect was never planned [S2]", j.name.Key)
	case rec.State == operation.Succeeded && rec.JobKind == batchKind && rec.Effects[eachRule] == "":
		c.violated("%s succeeded, and its effect for each item was never planned [S2]", j.name.Key)
	}
}

// performed checks what the receiver got of an effect against the promise.
func (c *checker) performed(e ledger.Effect) {
	if !job.IsStep(e.Name) {
		for _, key := range c.keysOf(e) {
			c.repeated(e, key)
		}
	}
	if status := c.statusOf(e); status != "" && status != e.Status() {
		c.violated("%s is %s, and its record says %s [L1]", e.IdempotencyKey, e.State, status)
	}
}

// repeated checks what the receiver got under a key: a repeat has the same bytes, and belongs to a
// claim of its own.
func (c *checker) repeated(e ledger.Effect, key string) {
	fences, payload := map[int64]int{}, ""
	if key == e.IdempotencyKey {
		payload = e.Payload
	}
	for _, r := range c.w.receiver.receipts {
		if r.key != key {
			continue
		}
		fences[r.fence]++
		payload = cmp.Or(payload, r.payload)
		if r.payload != payload {
			c.violated("%s was sent with other bytes by fence %d [K4]", key, r.fence)
		}
		if r.fence > e.Fence {
			c.violated("%s was performed by fence %d, after its last claim, %d [S6]", key, r.fence, e.Fence)
		}
	}
	if len(fences) > 1 {
		c.w.gate.met[metRepeated]++
		if key != e.IdempotencyKey {
			c.w.gate.met[metItemRepeated]++
		}
	}
	for fence, times := range fences {
		if times > 1 {
			c.violated("%s was performed %d times by fence %d [S3]", key, times, fence)
		}
	}
	if e.State == ledger.EffectDone && len(fences) == 0 {
		c.violated("%s is DONE and was never performed [S4]", key)
	}
}

func (c *checker) statusOf(e ledger.Effect) operation.EffectStatus {
	rec, _ := dataOf[operation.Record](c.w.store.documents[ledger.OperationPath(e.Operation)])
	return rec.Effects[e.Name]
}

// visible checks that every DEAD effect is in the list of dead letters.
func (c *checker) visible() {
	dead := c.w.dead()
	if len(dead) == 0 {
		return
	}
	c.w.gate.met[metDead]++
	l, err := ledger.New(observer{c.w.store}, c.w.settings, ledger.Options{})
	if err != nil {
		c.violated("%v", err)
		return
	}
	page, err := l.Operations.List(context.Background(), ledger.Filter{Dead: true, Limit: 100})
	if err != nil {
		c.violated("listing what is DEAD: %v", err)
		return
	}
	listed, _, err := l.Effects.Dead(context.Background(), page.Items)
	if err != nil {
		c.violated("reading what is DEAD: %v", err)
	}
	for _, e := range dead {
		if !slices.ContainsFunc(listed, func(l ledger.Effect) bool { return l.IdempotencyKey == e.IdempotencyKey }) {
			c.violated("%s is DEAD, and no list shows it [S2]", e.IdempotencyKey)
		}
	}
}

// asked checks that no operation was looked up more often than its record counts.
func (c *checker) asked() {
	for _, j := range c.w.gemini.batches {
		rec, ok := c.recordOf(j)
		if asked := c.w.gemini.asked[j.name.Key]; ok && asked > rec.LookUps {
			c.violated("%s was looked up %d times, and its record counts %d [R3]", j.name.Key, asked, rec.LookUps)
		}
	}
}
