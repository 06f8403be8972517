package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// lostly returns a test for each way in which a commit that succeeded can look failed. do
// gets a ledger whose first commit is one of these.
func lostly(name string, do func(w *world, l *ledger.Ledger)) []ledgerTest {
	return unanswered(name, func(w *world, lossy func() *ledger.Ledger) { do(w, lossy()) })
}

// unanswered is lostly for tests that change the world's settings first: each call of lossy makes
// such a ledger.
func unanswered(name string, do func(w *world, lossy func() *ledger.Ledger)) []ledgerTest {
	var tests []ledgerTest
	for _, fault := range []Fault{LoseAnswer, RepeatItself} {
		tests = append(tests, ledgerTest{fmt.Sprintf("%s (%s)", name, fault), func(w *world) {
			do(w, func() *ledger.Ledger { return w.over(Inject(w.store, fault)) })
		}})
	}
	return tests
}

// A commit may succeed while its answer is lost. The call must then report what happened, and
// do it once.
var ledgerLostAnswers = join(
	lostly("Ingest: applied and published exactly as planned [W3, S3]", func(w *world, l *ledger.Ledger) {
		w.register()
		w.store.Advance(time.Minute)
		r, err := l.Operations.Ingest(w.ctx, w.event("d1", operation.Succeeded, time.Second))
		if err != nil {
			w.Fatal(err)
		}
		equal(w, "the receipt", r, ledger.Receipt{
			Key: w.name.Key, Outcome: ledger.Applied, Reason: operation.Advanced, Registered: true,
			State: operation.Succeeded, Settled: true, After: w.settledAfter(), Planned: 1,
		})
		equal(w, "deliveries", len(w.show().Deliveries), 1)
		w.plannedOnce()
		equal(w, "the redelivery", w.ingest(w.event("d1", operation.Succeeded, time.Second)).Outcome, ledger.Duplicate)
	}),
	lostly("Ingest: dropped is not duplicate [W4, M8]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		r, err := l.Operations.Ingest(w.ctx, w.event("late", operation.Running, time.Hour))
		if err != nil || r.Outcome != ledger.Dropped || r.Reason != operation.RegressFromTerminal {
			w.Errorf("%+v, %v", r, err)
		}
		w.plannedOnce()
	}),
	lostly("Ingest: conflict is not duplicate [M5]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		r, err := l.Operations.Ingest(w.ctx, w.event("d2", operation.Failed, time.Hour))
		if err != nil || r.Outcome != ledger.Conflict {
			w.Errorf("%+v, %v", r, err)
		}
		w.plannedOnce()
	}),
	lostly("Ingest: a correlated event [K6]", func(w *world, l *ledger.Ledger) {
		if _, err := w.ledger().Operations.Register(w.ctx, w.correlated("c-1")); err != nil {
			w.Fatal(err)
		}
		r, err := l.Operations.Ingest(w.ctx, w.renamed("d1", "c-1"))
		if err != nil || r.Outcome != ledger.Applied || r.Key != w.name.Key || r.Planned != 1 {
			w.Errorf("%+v, %v", r, err)
		}
		w.plannedOnce()
	}),
	lostly("Register: known, and made once [L2]", func(w *world, l *ledger.Ledger) {
		registered, err := l.Operations.Register(w.ctx, w.correlated("c-1"))
		if err != nil || registered.Record.State != operation.Pending || !registered.Record.Registered {
			w.Errorf("%+v, %v", registered, err)
		}
		equal(w, "version", w.record().Version, 1)
		equal(w, "the id is bound", w.ingest(w.renamed("d1", "c-1")).Key, w.name.Key)
	}),
	lostly("Register late: its effects are due, if not published [W5]", func(w *world, l *ledger.Ledger) {
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		if _, err := l.Operations.Register(w.ctx, w.registration()); err != nil {
			w.Fatal(err)
		}
		equal(w, "the effect in the record", w.record().Effects[publish], operation.EffectOpen)
		page, err := w.ledger().Effects.Due(w.ctx, w.now(), ledger.Cursor{}, 10)
		if err != nil || len(page.Items) != 1 {
			w.Errorf("due: %+v, %v", page, err)
		}
	}),
	lostly("Claim: one's own [S3]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		grant, err := l.Effects.Claim(w.ctx, w.name.Key, publish)
		if err != nil || grant.Verdict != ledger.Claimed {
			w.Fatalf("%+v, %v", grant, err)
		}
		if lease := grant.Lease; lease.Fence != 1 || lease.Attempt != 1 || lease.Seized {
			w.Errorf("the lease: %+v", lease)
		}
		equal(w, "every other worker", w.claim(publish).Verdict, ledger.Held)
		w.finish(grant.Lease)
	}),
	lostly("Claim: a seizure is still one [S6]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		first := w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		grant, err := l.Effects.Claim(w.ctx, w.name.Key, publish)
		if err != nil || grant.Verdict != ledger.Claimed {
			w.Fatalf("%+v, %v", grant, err)
		}
		if lease := grant.Lease; lease.Fence != 2 || lease.Attempt != 2 || !lease.Seized {
			w.Errorf("the lease: %+v", lease)
		}
		w.lost(first)
	}),
	lostly("Claim: dead of its crashes [S2]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		w.crash(3 * w.settings.MaxAttempts)
		grant, err := l.Effects.Claim(w.ctx, w.name.Key, publish)
		why := fmt.Sprintf(
			"%d leases expired before an outcome was recorded", 3*w.settings.MaxAttempts,
		)
		if err != nil || grant.Verdict != ledger.Exhausted || grant.LastError != why {
			w.Errorf("%+v, %v", grant, err)
		}
		w.deadForGood(why)
	}),
	lostly("Extend: extended [S5]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		lease := w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL * 2 / 3)
		if err := l.Effects.Extend(w.ctx, lease); err != nil {
			w.Errorf("Extend: %v", err)
		}
		near(w, "held for", w.claim(publish).RetryAfter, w.settings.ClaimTTL)
		w.finish(lease)
	}),
	lostly("Finish: done, with its extra writes, once [S1]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		if err := l.Effects.Finish(w.ctx, w.granted(publish),
			ledger.Write{Path: pathC, Data: note{Text: "once"}}); err != nil {
			w.Errorf("Finish: %v", err)
		}
		equal(w, "the effect", w.effect(publish).State, ledger.EffectDone)
		equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
		equal(w, "the extra write", read[note](w, pathC).Text, "once")
	}),
	lostly("MarkDead: dead [S2]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		if err := l.Effects.MarkDead(w.ctx, w.granted(publish), errFailed); err != nil {
			w.Errorf("MarkDead: %v", err)
		}
		w.deadForGood(errFailed.Error())
	}),
	lostly("Release: given back, once [S4]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		failure := w.failed(l, w.granted(publish), 0)
		equal(w, "version", w.effect(publish).Version, 3)
		w.store.Advance(failure.Wait)
		equal(w, "fence of the next", w.granted(publish).Fence, 2)
	}),
	[]ledgerTest{{"Release, and another worker claimed before the next try [S6]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		l := w.over(Inject(afterCommit{w.store, func() {
			w.store.Advance(w.settings.ClaimTTL)
			w.granted(publish)
		}}, LoseAnswer))
		if _, err := l.Effects.Release(w.ctx, lease, errFailed, 0); !errors.Is(err, ledger.ErrLeaseLost) {
			w.Errorf("Release: %v, want ErrLeaseLost", err)
		}
		equal(w, "the effect", w.effect(publish).State, ledger.EffectClaimed)
		equal(w, "its fence", w.effect(publish).Fence, 2)
	}}, {"Claim, and the lease ran out before one could look again [S6]", func(w *world) {
		w.succeed()
		var second ledger.Lease
		l := w.over(Inject(afterCommit{w.store, func() {
			w.store.Advance(w.settings.ClaimTTL + time.Second)
			second = w.granted(publish)
		}}, LoseAnswer))
		grant, err := l.Effects.Claim(w.ctx, w.name.Key, publish)
		if err != nil || grant.Verdict != ledger.Held {
			w.Errorf("%+v, %v, want %s", grant, err, ledger.Held)
		}
		w.finish(second)
	}}, {"Ingest: a race lost while planning, then a drop without an answer [S3]", func(w *world) {
		w.register()
		commits := 0
		l := w.over(InjectFunc(w.store, func() Fault {
			if commits++; commits == 1 { // before the commit that would plan
				w.ingest(w.event("d2", operation.Succeeded, time.Second))
				return None
			}
			return LoseAnswer
		}))
		r, err := l.Operations.Ingest(w.ctx, w.event("d1", operation.Succeeded, time.Second))
		if err != nil || r.Outcome != ledger.Dropped || r.Planned != 0 {
			w.Errorf("%+v, %v", r, err)
		}
		w.plannedOnce()
	}}, {"Ingest, and another call changed the record meanwhile [M6]", func(w *world) {
		w.register()
		l := w.over(Inject(afterCommit{w.store, func() {
			w.ingest(w.event("d2", operation.Succeeded, 2*time.Second))
		}}, LoseAnswer))
		r, err := l.Operations.Ingest(w.ctx, w.event("d1", operation.Running, time.Second))
		if err != nil || r.Outcome != ledger.Applied || r.State != operation.Running {
			w.Errorf("%+v, %v", r, err)
		}
		w.plannedOnce()
	}}},
	lostly("Quarantine: kept, by this call [W6]", func(w *world, l *ledger.Ledger) {
		if _, err := l.Quarantine.Add(w.ctx, suspect("d1")); err != nil {
			w.Errorf("Quarantine: %v", err)
		}
		equal(w, "kept", len(w.quarantined()), 1)
	}),
	lostly("Advance: a deadline that is reached is logged once [J12]", func(w *world, l *ledger.Ledger) {
		w.submitJob(1, job.Options{Deadline: w.start.Add(time.Hour)})
		w.cut()
		w.store.Advance(time.Hour)
		_, err := l.Jobs.Advance(w.ctx, nightly)
		w.must("Advance", err)
		w.deadlineLogged(nightly)
	}),
	[]ledgerTest{{"Advance: a deadline that is reached is logged, also where no answer comes [J12]", func(w *world) {
		w.submitJob(1, job.Options{Deadline: w.start.Add(time.Hour)})
		w.cut()
		w.store.Advance(time.Hour)
		ctx, cancel := context.WithCancel(w.ctx)
		defer cancel()
		l := w.over(Inject(afterCommit{w.store, cancel}, LoseAnswer))
		if _, err := l.Jobs.Advance(ctx, nightly); err == nil {
			w.Errorf("it has an answer")
		}
		w.must("Advance", second(w.ledger().Jobs.Advance(w.ctx, nightly)))
		w.deadlineLogged(nightly)
	}}},
)

// An afterCommit calls a function after each commit that succeeds, before its caller has the
// answer.
type afterCommit struct {
	ledger.Store
	do func()
}

func (s afterCommit) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	tokens, err := s.Store.Commit(ctx, writes...)
	if err == nil {
		s.do()
	}
	return tokens, err
}
