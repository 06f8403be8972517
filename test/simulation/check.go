package simulation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/operation"
)

// A checker holds a world to its invariants: those of each commit in the step in which it is made,
// the others when the world has come to rest.
type checker struct {
	w      *World
	writes *ledgertest.Checked
	fences map[ledger.Path]int64

	holders map[ledger.Path]string // the request that holds an effect, or held it last
	done    map[ledger.Path]bool   // effects that were DONE, whether or not they have expired
	expired map[ledger.Path]bool   // what the store has deleted

	// Of the commit that is being made: the parts that it starts, and whether it holds a job for its cost.
	started     []operation.Key
	lostFiles   map[string]bool                   // that a job's plan has said are lost
	lostFor     map[operation.Key]map[string]bool // likewise as a part was started
	heldForCost bool
	halvedAt    time.Time // by no clock that leaps

	mu         sync.Mutex
	accepted   map[string]bool // by the id of the delivery
	violations []string
}

func newChecker(w *World) *checker {
	c := &checker{
		w: w, fences: map[ledger.Path]int64{}, accepted: map[string]bool{}, holders: map[ledger.Path]string{},
		done: map[ledger.Path]bool{}, expired: map[ledger.Path]bool{},
		lostFiles: map[string]bool{}, lostFor: map[operation.Key]map[string]bool{},
	}
	c.writes = ledgertest.Check(complaints{c: c}, accepting{})
	return c
}

// violated records an invariant that does not hold.
func (c *checker) violated(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
	if c.w.gate.trace != nil {
		c.w.gate.note("VIOLATION", c.violations[len(c.violations)-1])
	}
}

// complaints is a test whose failures are violations.
type complaints struct {
	testing.TB
	c *checker
}

func (c complaints) Errorf(format string, args ...any) { c.c.violated(format, args...) }

// accepting is a store that accepts every commit: the checks of ledgertest stand in front of one.
type accepting struct{ ledger.Store }

func (accepting) Commit(context.Context, ...ledger.Write) ([]ledger.Token, error) { return nil, nil }

// commit checks a commit before it is made.
func (c *checker) commit(s *store, by *actor, writes []ledger.Write) {
	_, _ = c.writes.Commit(context.Background(), writes...) // it accepts all, and complains by itself
	c.started, c.heldForCost = nil, false
	for _, w := range writes {
		before := s.documents[w.Path]
		switch after := w.Data.(type) {
		case operation.Record:
			was, known := dataOf[operation.Record](before)
			c.record(by, was, after, known)
			c.settles(was, after, writes)
			if after.Registered && !after.Settled() && after.Abandoned == nil && after.DueAt.IsZero() {
				c.violated("%s is pending and has no dueAt [L3]", after.Key)
			}
		case ledger.Effect:
			was, _ := dataOf[ledger.Effect](before)
			c.effect(by, w.Path, was, after)
			c.holder(w.Path, by.name, was, after)
		case ledger.Intent:
			if was, _ := dataOf[ledger.Intent](before); was.State == ledger.IntentOpen && after.State == ledger.IntentAbandoned {
				c.steady(by, w.Path, c.w.settings.StuckAfter)
			}
		case job.Job:
			was, known := dataOf[job.Job](before)
			c.plan(was, after, known)
			c.redrives(was, after, known, writes)
		case job.Part:
			was, _ := dataOf[job.Part](before)
			c.part(was, after)
		case ledger.RunningBatches:
			c.places(after)
			was, _ := dataOf[ledger.RunningBatches](before)
			c.halved(was, after)
		case ledger.Item:
			if after.State == ledger.ItemFailed {
				c.w.gate.met[metItemFailed]++
			}
		case nil:
			if was, ok := dataOf[ledger.Intent](before); w.Path.Collection() != ledger.PassesCollection &&
				(!ok || was.State == ledger.IntentBound) {
				c.violated("%s is deleted", w.Path)
			}
		}
	}
}

// committed checks what the store has once a commit is made.
func (c *checker) committed(writes []ledger.Write) {
	for _, w := range writes {
		if j, ok := w.Data.(job.Job); ok && j.ExpireAt.IsZero() { // else the objects of its parts are deleted
			c.conserved(j)
			c.piloted(j)
			c.costs(j)
		}
		if _, ok := w.Data.(ledger.Marks); ok {
			for _, d := range c.w.store.documents {
				c.found(d)
			}
		} else {
			c.found(c.w.store.documents[w.Path])
		}
	}
}

// found checks that a document is not due before the time at which passes begin to read, unless the clock was
// set: then they read from the beginning [L4].
func (c *checker) found(d *document) {
	if d == nil || d.times.DueAt.IsZero() || len(c.w.store.clock.sets) > 0 {
		return
	}
	marks, _ := dataOf[ledger.Marks](c.w.store.documents[ledger.PassesCollection+"/lookups"])
	if marks.Scans == nil || marks.Scans.Version != marks.Version {
		return
	}
	from := marks.Scans.Of[d.path.Collection()].From
	c.must(!d.times.DueAt.Before(from), "%s is due at %v, and passes begin to read at %v [L4]",
		d.path, d.times.DueAt, from)
}

func dataOf[T any](d *document) (T, bool) {
	if d == nil {
		var none T
		return none, false
	}
	data, ok := d.data.(T)
	return data, ok
}

// must records a violation where something does not hold.
func (c *checker) must(holds bool, format string, args ...any) {
	if !holds {
		c.violated(format, args...)
	}
}

// record checks that a record does not go back.
func (c *checker) record(by *actor, was, is operation.Record, known bool) {
	if is.Effects[publishRule] == operation.EffectWithheld && was.Effects[publishRule] == "" {
		c.w.gate.met[metWithheld]++
	}
	if !known {
		return
	}
	c.must(!was.Settled() || is.State == was.State, "%s was %s and is %s [M5, M9]", is.Key, was.State, is.State)
	c.must(is.State.Rank() >= was.State.Rank(), "%s was %s and is %s [M3]", is.Key, was.State, is.State)
	c.must(!was.Registered || is.Registered, "%s is no longer registered [L2]", is.Key)
	c.must(is.Version == was.Version+1, "%s: version %d follows %d [M6]", is.Key, is.Version, was.Version)
	c.must(is.LookUps != was.LookUps+1 || !was.DueAt.After(c.w.store.now()) || c.w.store.clock.setSince(by.began),
		"%s is looked up before it is due [R6]", is.Key)
	if was.MissingSince.IsZero() && !is.MissingSince.IsZero() {
		c.w.gate.met[metMissing]++
	}
	if was.StuckSince.IsZero() && !is.StuckSince.IsZero() {
		c.w.gate.met[metStuck]++
		c.steady(by, is.Key, c.w.settings.StuckAfter)
	}
	for name, status := range was.Effects {
		switch now := is.Effects[name]; {
		case now == status:
		case status == operation.EffectDone, status == operation.EffectOpen && now == "":
			c.violated("%s says %s of %s, and said %s [L1]", is.Key, now, name, status)
		}
	}
}

// effect checks what a commit makes of an effect.
func (c *checker) effect(by *actor, path ledger.Path, was, is ledger.Effect) {
	known, claimed := was.State != "", is.State == ledger.EffectClaimed
	c.must(is.Fence >= max(was.Fence, c.fences[path]),
		"%s: fence %d follows %d [S6]", path, is.Fence, max(was.Fence, c.fences[path]))
	c.must(!claimed || is.Owner == was.Owner || is.Fence > was.Fence,
		"%s is claimed, and its fence does not rise [S6]", path)
	c.must(was.State != ledger.EffectDone, "%s was DONE and is written again [S2]", path)
	c.must(was.State != ledger.EffectClaimed || !claimed || is.Fence == was.Fence ||
		!c.w.store.now().Before(was.ClaimableAt) || c.w.store.clock.setSince(by.began),
		"%s is seized before its lease is over [S2]", path)
	c.must(is.State != ledger.EffectDone || was.State == ledger.EffectClaimed,
		"%s is DONE, and no worker held it [S2]", path)
	c.must(!known || is.Version == was.Version+1, "%s: version %d follows %d [M6]", path, is.Version, was.Version)
	c.must(!known || was.IdempotencyKey == is.IdempotencyKey && was.Payload == is.Payload,
		"%s: its key or payload changes [K4]", path)
	met := c.w.gate.met
	switch {
	case !known:
		c.planned(path, is)
	case was.State == ledger.EffectDead && is.State == ledger.EffectPending:
		met[metReopened]++
	case was.State == ledger.EffectClaimed && is.State == ledger.EffectClaimed && is.Fence > was.Fence:
		met[metSeized]++
	case is.State == ledger.EffectDone && len(is.Replays) > 0:
		met[metRevived]++
	}
	c.fences[path] = max(c.fences[path], is.Fence)
	c.done[path] = c.done[path] || is.State == ledger.EffectDone
	for _, key := range c.keysOf(is) {
		seen := slices.ContainsFunc(c.w.receiver.receipts, func(r receipt) bool {
			return r.key == key && (r.fence == is.Fence || key != is.IdempotencyKey)
		})
		c.must(is.State != ledger.EffectDone || seen || job.IsStep(is.Name),
			"%s is DONE by fence %d, and the receiver never saw %s [S4]", path, is.Fence, key)
	}
}

// holder checks that only the request which was granted a claim extends or ends it. Past its lease
// another may give the effect up.
func (c *checker) holder(path ledger.Path, by string, was, is ledger.Effect) {
	given := c.w.settings.ClaimTTL
	back := was.ClaimableAt.After(c.w.store.now().Add(given)) && is.ClaimableAt.Before(was.ClaimableAt) // by a pass
	givenUp := is.State == ledger.EffectDead && !c.w.store.now().Before(was.ClaimableAt)
	switch {
	case is.State == ledger.EffectClaimed && is.Owner != was.Owner:
		c.holders[path] = by
	case was.State == ledger.EffectClaimed && is.Fence == was.Fence && by != c.holders[path] &&
		!is.ClaimableAt.Equal(was.ClaimableAt) && !givenUp && !back:
		c.violated("%s, which %s holds, is ended or extended by %s [S6]", path, c.holders[path], by)
	}
}

// sent checks the claim under which a handler is called: it has not ended, and its lease has not run
// out. A request that leaves the handler may still arrive later.
func (c *checker) sent(by *actor, task effect.Task) {
	c.sentItem(task)
	path := ledger.EffectPath(task.Operation, task.Effect)
	switch e, _ := dataOf[ledger.Effect](c.w.store.documents[path]); {
	case task.Operation == "" || task.Fence == 0 || task.IdempotencyKey == "":
		c.violated("a handler runs without a claim: %+v [S1]", task)
	case e.Fence != task.Fence:
		c.violated("%s is sent by fence %d, and held by %d [S6]", path, task.Fence, e.Fence)
	case e.State != ledger.EffectClaimed:
		c.violated("%s is sent by fence %d, whose claim has ended: it is %s [S6]", path, task.Fence, e.State)
	case !c.w.store.now().Before(e.ClaimableAt) && !c.w.store.clock.setSince(by.began):
		c.violated("%s is sent by fence %d past its lease [S6]", path, task.Fence)
	}
}
