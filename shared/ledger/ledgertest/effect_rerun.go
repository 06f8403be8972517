package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// again is an operator's message that requests a rerun of the effect "publish".
func (w *world) again(run, id string) ledger.Message {
	m := w.asked(publish, id)
	m.Rerun = run
	return m
}

// done makes the world's operation succeed and its effect "publish" done.
func (w *world) done() {
	w.Helper()
	w.succeed()
	w.finish(w.granted(publish))
}

var effectRerun = join([]ledgerTest{
	{"of ten reruns that were decided on one view of a DONE effect one is planned [G5]", func(w *world) {
		w.done()
		seen, planned := 0, 0
		ask := func(run string) (ledger.Replayed, error) {
			m := w.again(run, "m-"+run)
			m.Runs = &seen
			return w.ledger().Effects.Replay(w.ctx, m)
		}
		var group sync.WaitGroup
		var mu sync.Mutex
		for i := range 10 {
			group.Go(func() {
				got, err := ask(fmt.Sprint("view-", i))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && got.Outcome == ledger.PlannedRerun:
					planned++
				case !errors.Is(err, ledger.ErrReplay) || !strings.Contains(err.Error(), "and has 1 now"):
					w.Errorf("%+v %v, want ErrReplay", got, err)
				}
			})
		}
		group.Wait()
		equal(w, "planned", planned, 1)
		equal(w, "reruns", w.effect(publish).Runs, 1)
		seen = 1
		if got, err := ask("second"); err != nil || got.Outcome != ledger.PlannedRerun {
			w.Errorf("on a view of now: %+v %v", got, err)
		}
		if got, err := ask("second"); err != nil || got.Outcome != ledger.Repeated {
			w.Errorf("the same again: %+v %v", got, err)
		}
	}},
	{"a DONE effect is rerun under a name of its own, and stays as it is [G5, S2, K4]", func(w *world) {
		r := w.registration()
		r.Metadata = `{"idempotencyKey":"gemini:batches/abc-123#publish","n":1.50}`
		if _, err := w.ledger().Operations.Register(w.ctx, r); err != nil {
			w.Fatal(err)
		}
		w.done()
		w.store.Advance(day)
		w.lives("done", false, w.settings.Retention-day)
		first := w.effect(publish)
		equal(
			w, "replay", w.replay(w.again("fix-1", "m1")),
			ledger.Replayed{Effect: "publish@fix-1", Outcome: ledger.PlannedRerun},
		)
		w.lives("planned as a rerun", false, 0)
		equal(w, "the record", w.record().Effects["publish@fix-1"], operation.EffectOpen)
		run := w.effect("publish@fix-1")
		equal(w, "key [K4]", run.IdempotencyKey, "gemini:batches/abc-123#publish@fix-1")
		equal(w, "payload", run.Payload, strings.Replace(first.Payload,
			`,"idempotencyKey":"gemini:batches/abc-123#publish"`, `,"idempotencyKey":"gemini:batches/abc-123#publish@fix-1"`, 1))
		metadata := `{"idempotencyKey":"gemini:batches/abc-123#publish","n":1.50}`
		equal(w, "the metadata is unchanged", strings.Contains(run.Payload, metadata), true)
		if len(run.Replays) != 1 || run.Replays[0].By != "ops@example.com" || run.Replays[0].At.IsZero() {
			w.Errorf("who and when: %+v", run.Replays)
		}
		history := w.effect(publish)
		if history.State != ledger.EffectDone || !history.DoneAt.Equal(first.DoneAt) || history.Fence != first.Fence ||
			history.Payload != first.Payload {
			w.Errorf("the first run was %+v and is %+v", first, history)
		}
		lease := w.granted("publish@fix-1")
		equal(w, "fence", lease.Fence, 1)
		w.finish(lease)
		equal(w, "the record", w.record().Effects["publish@fix-1"], operation.EffectDone)
		w.lives("rerun done", false, w.settings.Retention)
		near(w, "the first run stays beside it for", history.ExpireAt.Sub(w.now()), 2*w.settings.Retention)
	}},
	{"the same nonce is the same rerun, another nonce another [G5]", func(w *world) {
		w.done()
		equal(w, "a", w.replay(w.again("a", "m1")).Outcome, ledger.PlannedRerun)
		equal(w, "a, redelivered", w.replay(w.again("a", "m1")).Outcome, ledger.Repeated)
		equal(w, "a, by another message", w.replay(w.again("a", "m2")).Outcome, "")
		w.finish(w.granted("publish@a"))
		equal(w, "a, done", w.replay(w.again("a", "m3")).Outcome, "")
		equal(w, "claim", w.claim("publish@a").Verdict, ledger.Done)
		equal(w, "b", w.replay(w.again("b", "m4")).Outcome, ledger.PlannedRerun)
		equal(w, "effects", len(w.show().Effects), 3)
		equal(w, "runs", w.effect(publish).Runs, 2)
		w.finish(w.granted("publish@b"))
		w.delete(ledger.EffectPath(w.name.Key, "publish@b"))
		w.refused(w.again("b", "m5"), "the document of that run is gone")
	}},
	{"a first run whose payload cannot be read has no rerun [G5]", func(w *world) {
		w.done()
		doc, first := w.document(ledger.EffectPath(w.name.Key, publish)), w.effect(publish)
		first.Version, first.Payload = first.Version+1, "{"
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: doc.Path, Token: doc.Token, Data: first}); err != nil {
			w.Fatal(err)
		}
		w.refused(w.again("a", "m1"), "the payload of the first run")
	}},
	{"a run that died is reopened as any effect is [G5]", func(w *world) {
		w.done()
		w.replay(w.again("a", "m1"))
		w.markDead("publish@a")
		w.lives("dead", false, 0)
		equal(w, "redelivered", w.replay(w.again("a", "m1")).Outcome, ledger.Repeated)
		equal(w, "by its name", w.replay(w.asked("publish@a", "m2")).Outcome, ledger.Reopened)
		w.markDead("publish@a")
		equal(w, "by its nonce", w.replay(w.again("a", "m3")).Outcome, ledger.Reopened)
		lease := w.granted("publish@a")
		equal(w, "fence [S6]", lease.Fence, 3)
		w.finish(lease)
	}},
	{"a rerun is held while the first run holds a lease, and then runs [G5]", func(w *world) {
		w.succeed()
		first := w.granted(publish)
		equal(w, "replay", w.replay(w.again("a", "m1")).Outcome, ledger.PlannedRerun)
		grant := w.claim("publish@a")
		equal(w, "claim", grant.Verdict, ledger.Held)
		near(w, "held for", grant.RetryAfter, w.settings.ClaimTTL)
		// A worker that stalls beyond its lease may resume: no sibling runs until another worker
		// has claimed the run.
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		equal(w, "claim, its lease over", w.claim("publish@a").Verdict, ledger.Held)
		w.finish(first)
		run := w.granted("publish@a")
		equal(w, "attempts were not counted", run.Attempt, 1)
		w.finish(run)
	}},
	{"the first run waits for a rerun, too [G5]", func(w *world) {
		w.succeed()
		wait := w.release(w.granted(publish), 0)
		w.replay(w.again("a", "m1"))
		run := w.granted("publish@a")
		w.store.Advance(wait)
		equal(w, "claim", w.claim(publish).Verdict, ledger.Held)
		w.finish(run)
		w.finish(w.granted(publish))
	}},
	{"a run waits for no other effect, and no alert [G5]", func(w *world) {
		w.settings.Rules[0].Alerts = []ledger.Alert{ledger.AlertStuck}
		w.register()
		w.store.Advance(w.settings.StuckAfter + time.Hour)
		due, now := w.pass()
		if p, err := w.ledger().Passes.ClaimLookUp(w.ctx, due, now); err != nil || p.Planned != 1 {
			w.Fatalf("ClaimLookUp: %+v, %v", p, err)
		}
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		w.granted("publish@stuck-1")
		w.finish(w.granted(publish))
		w.replay(w.again("a", "m1"))
		w.finish(w.granted("publish@a"))
	}},
	{"what cannot be rerun, and why [G5]", func(w *world) {
		w.refused(w.again("a", "m1"), "no such operation")
		w.register()
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		for nonce, words := range map[string]string{
			"a b": "rerun", "a/b": "rerun", "a@b": "rerun", ".": "rerun", "-a": "rerun", "é": "rerun",
			strings.Repeat("n", 65): "rerun", "stuck-1": "alert", "Missing-7": "alert",
		} {
			w.refused(w.again(nonce, "m1"), words)
		}
		run := w.asked("publish@a", "m1")
		run.Rerun = "b"
		w.refused(run, "itself one run")
		never := w.asked(alarm, "m1")
		never.Rerun = "a"
		w.refused(never, "without a rerun")
		for _, most := range []string{"a", strings.Repeat("n", 64), "2026-11-21_04.00-x"} {
			equal(w, most, w.replay(w.again(most, most)).Outcome, ledger.PlannedRerun)
		}
	}},
	{"runs are bounded", func(w *world) {
		w.done()
		for i := range 100 {
			w.replay(w.again(strings.Repeat("n", i%60+1)+string(rune('a'+i/60)), "m"))
		}
		w.refused(w.again("more", "m"), "100 reruns")
	}},
	{"an effect without reruns costs no extra read [S1]", func(w *world) {
		w.succeed()
		counting := Count(w.store)
		if _, err := w.over(counting).Effects.Claim(w.ctx, w.name.Key, publish); err != nil {
			w.Fatal(err)
		}
		equal(w, "claim", counting.Counts(), Counts{Gets: 1, Read: 2, Commits: 1, Writes: 1})
	}},
	{"forgotten with all its runs [S7]", func(w *world) {
		w.done()
		w.replay(w.again("a", "m1"))
		if n, err := w.ledger().Operations.Forget(w.ctx, w.name.Key); err != nil || n != 4 {
			w.Errorf("Forget: %d, %v", n, err)
		}
		equal(w, "claim", w.claim("publish@a").Verdict, ledger.Absent)
	}},
}, lostly("Replay as a rerun: planned, once [G5]", func(w *world, l *ledger.Ledger) {
	w.done()
	var r ledger.Replayed
	if err := w.replaying(w.again("a", "m1"), &r)(l); err != nil {
		w.Fatal(err)
	}
	equal(w, "replay", r, ledger.Replayed{Effect: "publish@a", Outcome: ledger.PlannedRerun})
	equal(w, "runs", w.effect(publish).Runs, 1)
	equal(w, "remembered", len(w.effect("publish@a").Replays), 1)
	w.finish(w.granted("publish@a"))
}), lostly("Claim of a run: one's own [S3]", func(w *world, l *ledger.Ledger) {
	w.done()
	w.replay(w.again("a", "m1"))
	grant, err := l.Effects.Claim(w.ctx, w.name.Key, "publish@a")
	if err != nil || grant.Verdict != ledger.Claimed || grant.Lease.Fence != 1 || grant.Lease.Attempt != 1 {
		w.Fatalf("%+v, %v", grant, err)
	}
	w.finish(grant.Lease)
}))
