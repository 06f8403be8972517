package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// ledgerFaults: the store is down, or every race is lost.
var ledgerFaults = []ledgerTest{
	{"out of retries nothing is written, and the redelivery is applied [M6, W3]", func(w *world) {
		w.register()
		e := w.event("d1", operation.Succeeded, time.Second)
		_, err := w.over(Inject(w.store, Times(1000, Abort)...)).Operations.Ingest(w.ctx, e)
		if !errors.Is(err, ledger.ErrContention) || ledger.Permanent(err) {
			w.Errorf("Ingest: %v, want ErrContention", err)
		}
		equal(w, "state", w.record().State, operation.Pending)
		w.published()
		equal(w, "the redelivery", w.ingest(e).Outcome, ledger.Applied)
		w.plannedOnce()
	}},
	{"out of retries after a lost answer it is not said that nothing was written [M6, W3]", func(w *world) {
		w.register()
		const before = 19 // tries; the next is the last
		_, err := w.over(Inject(w.store, append(Times(before, Abort), LoseAnswer)...)).Operations.Ingest(
			w.ctx, w.event("d1", operation.Succeeded, time.Second))
		if !errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrContention) {
			w.Errorf("Ingest: %v, want ErrUnavailable", err)
		}
		equal(w, "state", w.record().State, operation.Succeeded)
	}},
	{"a store that is down fails the call soon [W3]", func(w *world) {
		w.register()
		e := w.event("d1", operation.Succeeded, time.Second)
		counting := Count(Inject(w.store, Times(1000, FailBefore)...))
		_, err := w.over(counting).Operations.Ingest(w.ctx, e)
		if !errors.Is(err, ledger.ErrUnavailable) || ledger.Permanent(err) {
			w.Errorf("Ingest: %v, want ErrUnavailable", err)
		}
		if n := counting.Counts().Commits; n > 5 {
			w.Errorf("it tried %d times", n)
		}
		equal(w, "the redelivery", w.ingest(e).Outcome, ledger.Applied)
		w.plannedOnce()
	}},
	{"a few lost races are retried without an error [M6]", func(w *world) {
		faulty := func() *ledger.Ledger { return w.over(Inject(w.store, Times(7, Abort)...)) }
		if r, err := faulty().Operations.Register(w.ctx, w.registration()); err != nil || !r.Created {
			w.Fatalf("Register: %+v, %v", r, err)
		}
		if r, err := faulty().Operations.Ingest(w.ctx,
			w.event("d1", operation.Succeeded, time.Second)); err != nil || r.Planned != 1 {
			w.Fatalf("Ingest: %+v, %v", r, err)
		}
		w.plannedOnce()
		grant, err := faulty().Effects.Claim(w.ctx, w.name.Key, publish)
		if err != nil || grant.Lease.Fence != 1 || grant.Lease.Attempt != 1 {
			w.Fatalf("Claim: %+v, %v", grant, err)
		}
		if err := faulty().Effects.Extend(w.ctx, grant.Lease); err != nil {
			w.Errorf("Extend: %v", err)
		}
		if _, err := faulty().Effects.Release(w.ctx, grant.Lease, errFailed, 0); err != nil {
			w.Errorf("Release: %v", err)
		}
		w.store.Advance(w.settings.ClaimTTL)
		if err := faulty().Effects.Finish(w.ctx, w.granted(publish)); err != nil {
			w.Errorf("Finish: %v", err)
		}
		equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
	}},
	{"a commit that failed once is made once [W3]", func(w *world) {
		faulty := func() *ledger.Ledger { return w.over(Inject(w.store, FailBefore)) }
		if r, err := faulty().Operations.Register(w.ctx, w.registration()); err != nil || !r.Created {
			w.Fatalf("Register: %+v, %v", r, err)
		}
		if r, err := faulty().Operations.Ingest(w.ctx, w.event("d1", operation.Succeeded, time.Second)); err != nil ||
			r.Outcome != ledger.Applied {
			w.Fatalf("Ingest: %+v, %v", r, err)
		}
		w.plannedOnce()
		grant, err := faulty().Effects.Claim(w.ctx, w.name.Key, publish)
		if err != nil || grant.Lease.Fence != 1 {
			w.Fatalf("Claim: %+v, %v", grant, err)
		}
		if err := faulty().Effects.Finish(w.ctx, grant.Lease); err != nil {
			w.Errorf("Finish: %v", err)
		}
		equal(w, "version", w.effect(publish).Version, 3)
	}},
	{"a pause between tries ends with the context", func(w *world) {
		w.register()
		w.jitter = func() float64 { return 1 }
		ctx, cancel := context.WithCancel(w.ctx)
		store := InjectFunc(w.store, func() Fault { cancel(); return Abort })
		if _, err := w.over(store).Operations.Ingest(ctx, w.event("d1", operation.Succeeded, time.Second)); !errors.Is(
			err, context.Canceled,
		) {
			w.Errorf("Ingest: %v, want the context's end", err)
		}
	}},
	{"a claim whose answer was lost runs out [S4]", func(w *world) {
		w.succeed()
		// The claim is committed, its answer lost, and the store down at the next read.
		_, err := w.over(brokenAfter{Inject(w.store, LoseAnswer), new(bool)}).Effects.Claim(w.ctx, w.name.Key, publish)
		if !errors.Is(err, ledger.ErrUnavailable) {
			w.Errorf("Claim: %v, want ErrUnavailable", err)
		}
		equal(w, "for a while", w.claim(publish).Verdict, ledger.Held)
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		lease := w.granted(publish)
		equal(w, "then", fmt.Sprint(lease.Seized, lease.Fence), "true 2")
	}},
}

// A brokenAfter fails every read after the first commit.
type brokenAfter struct {
	ledger.Store
	broken *bool
}

func (s brokenAfter) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	*s.broken = true
	return s.Store.Commit(ctx, writes...)
}

func (s brokenAfter) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if *s.broken {
		return ledger.Snapshot{}, fmt.Errorf("%w: %w", ledger.ErrUnavailable, errInjected)
	}
	return s.Store.Get(ctx, paths...)
}
