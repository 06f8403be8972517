package calls

import (
	"errors"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// counts are the fields of an effect that count its claims.
var counts = []string{"fence", "attempts", "interrupted", "history", "version"}

// claims requests a claim, and fails where another worker holds the effect.
func claims(w *World) (any, error) {
	grant, err := w.Ledger.Effects.Claim(w.Ctx, key, publish)
	return grant.Verdict, err
}

// claimsAtLast claims the effect, after the lease of a claim whose answer did not come.
func claimsAtLast(w *World) error {
	w.Store.Advance(w.Ledger.Settings().ClaimTTL + time.Second)
	grant, err := w.Ledger.Effects.Claim(w.Ctx, key, publish)
	if err == nil && grant.Verdict != ledger.Claimed {
		err = errors.New("after the lease the claim is " + string(grant.Verdict))
	}
	return err
}

var operator = ledger.Message{Operation: key, Effect: publish, By: "an operator", ID: "message-1"}

func replays(m ledger.Message) func(w *World) (any, error) {
	return func(w *World) (any, error) { return w.Ledger.Effects.Replay(w.Ctx, m) }
}

func rerun() ledger.Message {
	m := operator
	m.Rerun = "again-1"
	return m
}

// swept is a pass that has found the effect due.
func swept(w *World) {
	w.succeed()
	w.Store.Advance(time.Hour)
	now := got[time.Time](w)(w.Ledger.Now(w.Ctx))
	found := got[ledger.Page[ledger.DueEffect]](w)(w.Ledger.Effects.Due(w.Ctx, now, ledger.Cursor{}, 1))
	w.effect = found.Items[0]
}

func requeues(w *World) (any, error) {
	return nil, w.Ledger.Effects.Requeue(w.Ctx, w.effect, w.Start.Add(time.Hour))
}

var effectCalls = []Call{
	{Name: "Effects.Claim", Arrange: (*World).succeed, Act: claims, Again: claimsAtLast, Once: true, Loose: counts},
	{Name: "Effects.Claim/of a lease that ran out", Arrange: func(w *World) {
		w.claim()
		w.Lease = ledger.Lease{}
		w.Store.Advance(w.Ledger.Settings().ClaimTTL + time.Second)
	}, Act: claims, Again: claimsAtLast, Once: true, Loose: counts},
	{Name: "Effects.Claim/of one of several runs", Arrange: func(w *World) {
		w.succeed()
		got[any](w)(replays(rerun())(w))
	}, Act: claims, Again: claimsAtLast, Once: true, Loose: counts},
	{Name: "Effects.Extend", Arrange: (*World).claim, Once: true, Loose: []string{"version"}, Rewrites: true,
		Act: func(w *World) (any, error) { return nil, w.Ledger.Effects.Extend(w.Ctx, w.Lease) }},
	{Name: "Effects.Continue", Arrange: (*World).claim, Act: func(w *World) (any, error) {
		return w.Ledger.Effects.Continue(w.Ctx, w.Lease)
	}},
	{Name: "Effects.Postpone", Arrange: (*World).claim, Act: func(w *World) (any, error) {
		return nil, w.Ledger.Effects.Postpone(w.Ctx, w.Lease, errBroken, time.Minute)
	}},
	{Name: "Effects.Decline", Arrange: func(w *World) {
		for range 2 {
			swept(w)
			got[any](w)(requeues(w))
		}
	}, Act: func(w *World) (any, error) { return w.Ledger.Effects.Decline(w.Ctx, key, publish) }},
	{Name: "Effects.Finish", Arrange: (*World).claim, Act: func(w *World) (any, error) {
		return nil, w.Ledger.Effects.Finish(w.Ctx, w.Lease)
	}},
	{Name: "Effects.Finish/with extra writes", Arrange: (*World).claim, Act: func(w *World) (any, error) {
		once := ledger.Write{Path: "results/once", Data: operation.Record{Key: key, Version: 1}}
		last := ledger.Write{Path: "results/last", Token: ledger.Replace, Data: operation.Record{Key: key, Version: 1}}
		return nil, w.Ledger.Effects.Finish(w.Ctx, w.Lease, once, last)
	}},
	{Name: "Effects.MarkDead", Arrange: (*World).claim, Act: func(w *World) (any, error) {
		return nil, w.Ledger.Effects.MarkDead(w.Ctx, w.Lease, errBroken)
	}},
	{Name: "Effects.Release", Arrange: (*World).claim, Act: releases},
	{Name: "Effects.Release/for the last time", Arrange: func(w *World) {
		w.claim()
		failure := got[any](w)(releases(w)).(ledger.Failure)
		w.Store.Advance(failure.Wait + time.Second)
		w.claimAgain()
	}, Act: releases},
	{Name: "Effects.Recover", Arrange: (*World).succeed, Act: func(w *World) (any, error) {
		return w.Ledger.Effects.Recover(w.Ctx, key, publish, "an operator")
	}},
	{Name: "Effects.Replay/of a dead one", Arrange: (*World).die, Act: replays(operator)},
	{Name: "Effects.Replay/of one that waits", Arrange: (*World).succeed, Act: replays(operator)},
	{Name: "Effects.Replay/of one never planned", Arrange: func(w *World) {
		w.succeed()
		got[int](w)(w.Ledger.Operations.Forget(w.Ctx, key))
		w.register()
		w.endWithoutEffects()
	}, Act: replays(operator)},
	{Name: "Effects.Replay/as a rerun", Arrange: (*World).succeed, Act: replays(rerun())},
	{Name: "Effects.Requeue", Arrange: swept, Act: requeues, Settled: []error{ledger.ErrConflict}},
	{Name: "Effects.Requeue/while nothing can be published", Arrange: func(w *World) {
		swept(w)
		w.outbox.fail(errUnpublished)
	}, Act: func(w *World) (any, error) {
		_, err := requeues(w)
		return nil, beside(err, errUnpublished)
	}, Settled: []error{ledger.ErrConflict}, Loose: []string{"unanswered", "version"}},
	{Name: "Effects.Waive", Arrange: (*World).die, Act: waives},
	{Name: "Effects.Waive/with failed items", Arrange: failedItems, Act: waives, Spares: ledger.ItemsCollection},
	{Name: "Effects.Replay/with failed items that were waived", Arrange: func(w *World) {
		failedItems(w)
		got[any](w)(waives(w))
	}, Act: replays(operator), Spares: ledger.ItemsCollection},
}

var errUnpublished = errors.New("nothing can be published")

// beside returns what else an error says than the expected one.
func beside(err, expected error) error {
	joined, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // exactly this one
	if !ok {
		return err
	}
	rest := slices.DeleteFunc(joined.Unwrap(), func(e error) bool { return errors.Is(e, expected) })
	return errors.Join(rest...)
}

func releases(w *World) (any, error) {
	failure, err := w.Ledger.Effects.Release(w.Ctx, w.Lease, errBroken, 0)
	failure.Wait = failure.Wait.Round(time.Minute)
	return failure, err
}

func waives(w *World) (any, error) {
	return w.Ledger.Effects.Waive(w.Ctx, key, publish, ledger.Decision{By: "an operator", Why: "it was done by hand"})
}

// endWithoutEffects is an end that a ledger without rules ingests.
func (w *World) endWithoutEffects() {
	w.Helper()
	l, err := ledger.New(w.Store, ledger.DefaultSettings(), ledger.Options{})
	w.must(err)
	got[ledger.Receipt](w)(l.Operations.Ingest(w.Ctx, w.event("without rules", operation.Succeeded)))
}

// record records the items from first to last of the lease's effect, all done.
func (w *World) record(first, last int64) {
	w.Helper()
	w.Store.Advance(2 * time.Second)
	progress := got[ledger.ItemProgress](w)
	w.Lease.Progress = progress(w.Ledger.Items.Record(w.Ctx, w.Lease, w.Lease.Progress, chunkOf(first, last)))
}

func chunkOf(first, last int64) []ledger.ItemOutcome {
	var outcomes []ledger.ItemOutcome
	for i := first; i < last; i++ {
		outcomes = append(outcomes, ledger.ItemOutcome{Index: i, Key: string(rune('a' + i))})
	}
	return outcomes
}

// failedItems is a dead effect, of which one item was done and two were given up.
func failedItems(w *World) {
	w.claim()
	w.Store.Advance(2 * time.Second)
	outcomes := chunkOf(0, 3)
	for i := range outcomes[1:] {
		outcomes[i+1].Err, outcomes[i+1].Permanent, outcomes[i+1].Response = errBroken, true, []byte(`{"text":"no"}`)
	}
	got[ledger.ItemProgress](w)(w.Ledger.Items.Record(w.Ctx, w.Lease, w.Lease.Progress, outcomes))
	w.must(w.Ledger.Effects.MarkDead(w.Ctx, w.Lease, errBroken))
}

var itemCalls = []Call{
	{Name: "Items.Record", Arrange: func(w *World) {
		w.claim()
		w.Store.Advance(2 * time.Second)
	}, Act: func(w *World) (any, error) {
		outcomes := chunkOf(0, 3)
		outcomes[0].ExtraWrites = []ledger.Write{{Path: "results/a", Data: operation.Record{Key: key, Version: 1}}}
		outcomes[2].Err = errBroken
		return w.Ledger.Items.Record(w.Ctx, w.Lease, w.Lease.Progress, outcomes)
	}},
	{Name: "Items.Record/tried before", Arrange: func(w *World) {
		w.claim()
		w.Store.Advance(2 * time.Second)
		outcomes := chunkOf(0, 3)
		outcomes[1].Err = errBroken
		w.Lease.Progress = got[ledger.ItemProgress](w)(w.Ledger.Items.Record(w.Ctx, w.Lease, w.Lease.Progress, outcomes))
		w.Store.Advance(2 * time.Second)
	}, Act: func(w *World) (any, error) {
		outcomes := chunkOf(1, 2)
		outcomes[0].Known = true
		return w.Ledger.Items.Record(w.Ctx, w.Lease, w.Lease.Progress, outcomes)
	}},
	{Name: "Items.UpdateProgress", Arrange: func(w *World) {
		w.claim()
		w.record(0, 3)
	}, Act: func(w *World) (any, error) {
		at := w.Lease.Progress
		at.Total, at.Length = 5, 5
		return w.Ledger.Items.UpdateProgress(w.Ctx, w.Lease, at)
	}},
}
