package firestore_test

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// counts are the fields of an effect that count its claims.
var counts = []string{"fence", "attempts", "interrupted", "history", "version"}

// claims requests a claim, and fails where another worker holds the effect.
func claims(w *faultWorld) (any, error) {
	grant, err := w.l.Claim(w.ctx, key, publish)
	return grant.Verdict, err
}

// claimsAtLast claims the effect, after the lease of a claim whose answer did not come.
func claimsAtLast(w *faultWorld) error {
	w.store.Advance(w.l.Settings().ClaimTTL + time.Second)
	grant, err := w.l.Claim(w.ctx, key, publish)
	if err == nil && grant.Verdict != ledger.Claimed {
		err = errors.New("after the lease the claim is " + string(grant.Verdict))
	}
	return err
}

var operator = ledger.Message{Operation: key, Effect: publish, By: "an operator", ID: "message-1"}

func replays(m ledger.Message) func(w *faultWorld) (any, error) {
	return func(w *faultWorld) (any, error) { return w.l.Replay(w.ctx, m) }
}

func rerun() ledger.Message {
	m := operator
	m.Rerun = "again-1"
	return m
}

// swept is a pass that has found the effect due.
func swept(w *faultWorld) {
	w.succeed()
	w.store.Advance(time.Hour)
	now := got[time.Time](w)(w.l.Now(w.ctx))
	found := got[ledger.Page[ledger.DueEffect]](w)(w.l.DueEffects(w.ctx, now, ledger.Cursor{}, 1))
	w.effect = found.Items[0]
}

func requeues(w *faultWorld) (any, error) {
	return nil, w.l.Requeue(w.ctx, w.effect, w.start.Add(time.Hour))
}

var effectCalls = []faultCall{
	{name: "Claim", arrange: (*faultWorld).succeed, act: claims, again: claimsAtLast, once: true, loose: counts},
	{name: "Claim/of a lease that ran out", arrange: func(w *faultWorld) {
		w.claim()
		w.lease = ledger.Lease{}
		w.store.Advance(w.l.Settings().ClaimTTL + time.Second)
	}, act: claims, again: claimsAtLast, once: true, loose: counts},
	{name: "Claim/of one of several runs", arrange: func(w *faultWorld) {
		w.succeed()
		got[any](w)(replays(rerun())(w))
	}, act: claims, again: claimsAtLast, once: true, loose: counts},
	{name: "Extend", arrange: (*faultWorld).claim, once: true, loose: []string{"version"},
		act: func(w *faultWorld) (any, error) { return nil, w.l.Extend(w.ctx, w.lease) }},
	{name: "Continue", arrange: (*faultWorld).claim, act: func(w *faultWorld) (any, error) {
		return w.l.Continue(w.ctx, w.lease)
	}},
	{name: "Decline", arrange: func(w *faultWorld) {
		for range 2 {
			swept(w)
			got[any](w)(requeues(w))
		}
	}, act: func(w *faultWorld) (any, error) { return w.l.Decline(w.ctx, key, publish) }},
	{name: "Finish", arrange: (*faultWorld).claim, act: func(w *faultWorld) (any, error) {
		return nil, w.l.Finish(w.ctx, w.lease)
	}},
	{name: "Finish/with extra writes", arrange: (*faultWorld).claim, act: func(w *faultWorld) (any, error) {
		once := ledger.Write{Path: "results/once", Data: operation.Record{Key: key, Version: 1}}
		last := ledger.Write{Path: "results/last", Token: ledger.Replace, Data: operation.Record{Key: key, Version: 1}}
		return nil, w.l.Finish(w.ctx, w.lease, once, last)
	}},
	{name: "MarkDead", arrange: (*faultWorld).claim, act: func(w *faultWorld) (any, error) {
		return nil, w.l.MarkDead(w.ctx, w.lease, errBroken)
	}},
	{name: "Release", arrange: (*faultWorld).claim, act: releases},
	{name: "Release/for the last time", arrange: func(w *faultWorld) {
		w.claim()
		failure := got[any](w)(releases(w)).(ledger.Failure)
		w.store.Advance(failure.Wait + time.Second)
		w.claimAgain()
	}, act: releases},
	{name: "Recover", arrange: (*faultWorld).succeed, act: func(w *faultWorld) (any, error) {
		return w.l.Recover(w.ctx, key, publish, "an operator")
	}},
	{name: "Replay/of a dead one", arrange: (*faultWorld).die, act: replays(operator)},
	{name: "Replay/of one that waits", arrange: (*faultWorld).succeed, act: replays(operator)},
	{name: "Replay/of one never planned", arrange: func(w *faultWorld) {
		w.succeed()
		got[int](w)(w.l.Forget(w.ctx, key))
		w.register()
		w.endWithoutEffects()
	}, act: replays(operator)},
	{name: "Replay/as a rerun", arrange: (*faultWorld).succeed, act: replays(rerun())},
	{name: "Requeue", arrange: swept, act: requeues, settled: []error{ledger.ErrConflict}},
	{name: "AbandonEffect", arrange: (*faultWorld).die, act: waives},
	{name: "AbandonEffect/with failed items", arrange: failedItems, act: waives},
	{name: "Replay/with failed items that were waived", arrange: func(w *faultWorld) {
		failedItems(w)
		got[any](w)(waives(w))
	}, act: replays(operator)},
}

func releases(w *faultWorld) (any, error) {
	failure, err := w.l.Release(w.ctx, w.lease, errBroken, 0)
	failure.Wait = failure.Wait.Round(time.Minute)
	return failure, err
}

func waives(w *faultWorld) (any, error) {
	return w.l.AbandonEffect(w.ctx, key, publish, ledger.Abandonment{By: "an operator", Why: "it was done by hand"})
}

// endWithoutEffects is an end that a ledger without rules ingests.
func (w *faultWorld) endWithoutEffects() {
	w.Helper()
	l, err := ledger.New(w.store, ledger.DefaultSettings(), ledger.Options{})
	w.must(err)
	got[ledger.Receipt](w)(l.Ingest(w.ctx, w.event("without rules", operation.Succeeded)))
}

// record records the items from first to last of the lease's effect, all done.
func (w *faultWorld) record(first, last int64) {
	w.Helper()
	w.store.Advance(2 * time.Second)
	w.lease.Progress = got[ledger.ItemProgress](w)(w.l.RecordItems(w.ctx, w.lease, w.lease.Progress, chunkOf(first, last)))
}

func chunkOf(first, last int64) []ledger.ItemOutcome {
	var outcomes []ledger.ItemOutcome
	for i := first; i < last; i++ {
		outcomes = append(outcomes, ledger.ItemOutcome{Index: i, Key: string(rune('a' + i))})
	}
	return outcomes
}

// failedItems is a dead effect, of which one item was done and two were given up.
func failedItems(w *faultWorld) {
	w.claim()
	w.store.Advance(2 * time.Second)
	outcomes := chunkOf(0, 3)
	for i := range outcomes[1:] {
		outcomes[i+1].Err, outcomes[i+1].Permanent, outcomes[i+1].Response = errBroken, true, []byte(`{"text":"no"}`)
	}
	got[ledger.ItemProgress](w)(w.l.RecordItems(w.ctx, w.lease, w.lease.Progress, outcomes))
	w.must(w.l.MarkDead(w.ctx, w.lease, errBroken))
}

var itemCalls = []faultCall{
	{name: "RecordItems", arrange: func(w *faultWorld) {
		w.claim()
		w.store.Advance(2 * time.Second)
	}, act: func(w *faultWorld) (any, error) {
		outcomes := chunkOf(0, 3)
		outcomes[0].ExtraWrites = []ledger.Write{{Path: "results/a", Data: operation.Record{Key: key, Version: 1}}}
		outcomes[2].Err = errBroken
		return w.l.RecordItems(w.ctx, w.lease, w.lease.Progress, outcomes)
	}},
	{name: "RecordItems/tried before", arrange: func(w *faultWorld) {
		w.claim()
		w.store.Advance(2 * time.Second)
		outcomes := chunkOf(0, 3)
		outcomes[1].Err = errBroken
		w.lease.Progress = got[ledger.ItemProgress](w)(w.l.RecordItems(w.ctx, w.lease, w.lease.Progress, outcomes))
		w.store.Advance(2 * time.Second)
	}, act: func(w *faultWorld) (any, error) {
		return w.l.RecordItems(w.ctx, w.lease, w.lease.Progress, chunkOf(1, 2))
	}},
	{name: "UpdateProgress", arrange: func(w *faultWorld) {
		w.claim()
		w.record(0, 3)
	}, act: func(w *faultWorld) (any, error) {
		at := w.lease.Progress
		at.Total, at.Length = 5, 5
		return w.l.UpdateProgress(w.ctx, w.lease, at)
	}},
}
