package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// asked is an operator's message about an effect of the world's operation.
func (w *world) asked(effect, id string) ledger.Message {
	return ledger.Message{Operation: w.name.Key, Effect: effect, ID: id, By: "ops@example.com"}
}

// replaying is a move that replays an operator's message, and keeps the result in r.
func (w *world) replaying(m ledger.Message, r *ledger.Replayed) move {
	return func(l *ledger.Ledger) (err error) {
		*r, err = l.Effects.Replay(w.ctx, m)
		return err
	}
}

// replay replays an operator's message.
func (w *world) replay(m ledger.Message) ledger.Replayed {
	w.Helper()
	var r ledger.Replayed
	if err := w.replaying(m, &r)(w.ledger()); err != nil {
		w.Fatalf("Replay %+v: %v", m, err)
	}
	return r
}

// refused checks that a replay is refused with an error that contains words, and changes nothing.
func (w *world) refused(m ledger.Message, words string) {
	w.Helper()
	before := w.record().Version
	_, err := w.ledger().Effects.Replay(w.ctx, m)
	if !errors.Is(err, ledger.ErrReplay) || !strings.Contains(err.Error(), words) {
		w.Errorf("Replay %+v: %v, want ErrReplay that says %q", m, err, words)
	}
	equal(w, "the record's version", w.record().Version, before)
}

// died makes the world's operation succeed and its effect die.
func (w *world) died() {
	w.Helper()
	w.succeed()
	w.markDead(publish)
}

var effectReplay = join([]ledgerTest{
	{
		"a DEAD effect is reopened by an operator, with all its attempts and a fence that continues [G5, S2, S6]",
		func(w *world) {
			w.settings.MaxAttempts = 2
			w.succeed()
			key := w.granted(publish)
			w.store.Advance(w.release(key, 0))
			w.markDead(publish)
			equal(w, "claim", w.claim(publish).Verdict, ledger.Dead)
			equal(w, "replay", w.replay(w.asked(publish, "m1")), ledger.Replayed{Effect: publish, Outcome: ledger.Reopened})
			effect := w.effect(publish)
			equal(w, "state", effect.State, ledger.EffectPending)
			equal(w, "attempts", effect.Attempts, 0)
			equal(w, "its last error", effect.LastError, "")
			equal(w, "the replay's", effect.Replays[0].LastError, errFailed.Error())
			if n := len(effect.Replays); n != 1 || effect.Replays[0].By != "ops@example.com" ||
				effect.Replays[0].Message != "m1" {
				w.Errorf("replays: %+v", effect.Replays)
			}
			equal(w, "the record", w.record().Effects[publish], operation.EffectOpen)
			w.lives("reopened", false, 0)
			lease := w.granted(publish)
			equal(w, "fence", lease.Fence, 3)
			equal(w, "attempt", lease.Attempt, 1)
			equal(w, "key [K4]", lease.IdempotencyKey, key.IdempotencyKey)
			equal(w, "payload", string(lease.Payload), string(key.Payload))
			w.lost(key)
			w.finish(lease)
			w.lives("done", false, w.settings.Retention)
		},
	},
	{"DEAD of crashes after a replay, it does not report an error from before [G5, S2]", func(w *world) {
		w.settings.MaxAttempts = 2
		w.died()
		const crashed = "6 leases expired before an outcome was recorded"
		for i, before := range []string{errFailed.Error(), crashed, crashed} {
			equal(w, "replay", w.replay(w.asked(publish, fmt.Sprint("m", i))).Outcome, ledger.Reopened)
			w.crash(6)
			equal(w, "the claim that finds it", w.claim(publish).LastError, crashed)
			w.deadForGood(crashed)
			equal(w, "what it died of before", w.effect(publish).Replays[i].LastError, before)
		}
		w.replay(w.asked(publish, "m3"))
		w.store.Advance(w.fail(0).Wait)
		w.crash(6)
		w.claim(publish)
		w.deadForGood(crashed + "; the last error before: " + errFailed.Error())
	}},
	{"waived is reopened and no longer waived [G5, L3]", func(w *world) {
		w.died()
		w.waive(publish)
		w.lives("waived", false, w.settings.Retention)
		equal(w, "replay", w.replay(w.asked(publish, "m1")).Outcome, ledger.Reopened)
		effect := w.effect(publish)
		equal(w, "waived", effect.Abandoned != nil, false)
		equal(w, "expires", effect.ExpireAt.IsZero(), true)
		w.lives("reopened", false, 0)
		w.finish(w.granted(publish))
	}},
	{"the sweep finds what a replay reopened [R5]", func(w *world) {
		w.died()
		w.replay(w.asked(publish, "m1"))
		page, err := w.ledger().Effects.Due(w.ctx, w.now(), ledger.Cursor{}, 10)
		if err != nil || len(page.Items) != 1 {
			w.Errorf("due: %+v, %v", page, err)
		}
	}},
	{"a replay waits in the ledger through a pause of any length [G5, R5]", func(w *world) {
		w.died()
		rerun := w.asked(publish, "m2")
		rerun.Rerun = "fix-1"
		w.replay(w.asked(publish, "m1"))
		w.replay(rerun)
		for range 3 { // longer than any queue keeps a message
			w.store.Advance(7 * day)
			equal(w, "swept", w.sweep(), 2)
			equal(w, "redelivered", w.replay(w.asked(publish, "m1")).Outcome, ledger.Repeated)
			equal(w, "rerun, redelivered", w.replay(rerun).Outcome, ledger.Repeated)
		}
		w.finish(w.granted(publish))
		w.finish(w.granted(publish + "@fix-1"))
		equal(w, "swept, once done", w.sweep(), 0)
	}},
	{"a message reopens once, whatever it found; another one again [G5]", func(w *world) {
		w.succeed()
		equal(w, "open", w.replay(w.asked(publish, "m0")).Outcome, "")
		w.markDead(publish)
		equal(w, "dead of what m0 asked for", w.replay(w.asked(publish, "m0")).Outcome, ledger.Repeated)
		for i, id := range []string{"m1", "m2", "m3"} {
			equal(w, id, w.replay(w.asked(publish, id)).Outcome, ledger.Reopened)
			equal(w, id+" again", w.replay(w.asked(publish, id)).Outcome, ledger.Repeated)
			w.markDead(publish)
			for _, old := range []string{"m0", "m1", "m2", "m3"}[:i+2] {
				equal(w, old+", redelivered", w.replay(w.asked(publish, old)).Outcome, ledger.Repeated)
			}
			equal(w, "state", w.effect(publish).State, ledger.EffectDead)
		}
		equal(w, "fence", w.effect(publish).Fence, 4)
	}},
	{"a message without an id reopens nothing [G5]", func(w *world) {
		w.died()
		version := w.effect(publish).Version
		equal(w, "replay", w.replay(w.asked(publish, "")).Outcome, "")
		equal(w, "version", w.effect(publish).Version, version)
	}},
	{"only the latest messages are remembered", func(w *world) {
		w.succeed()
		for i := range 105 {
			w.replay(w.asked(publish, fmt.Sprint("m", i)))
		}
		replays := w.effect(publish).Replays
		if n := len(replays); n != 100 || replays[n-1].Message != "m104" {
			w.Errorf("%d are remembered: %+v", n, replays)
		}
	}},
	{"done stays done [S2, S7]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		version := w.effect(publish).Version
		equal(w, "replay", w.replay(w.asked(publish, "m1")), ledger.Replayed{Effect: publish})
		equal(w, "version", w.effect(publish).Version, version)
		equal(w, "claim", w.claim(publish).Verdict, ledger.Done)
	}},
	{"backing off and held stay so [S4, S5]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		equal(w, "held", w.replay(w.asked(publish, "m1")).Outcome, "")
		equal(w, "claim", w.claim(publish).Verdict, ledger.Held)
		w.release(lease, time.Hour)
		equal(w, "backing off", w.replay(w.asked(publish, "m2")).Outcome, "")
		equal(w, "claim", w.claim(publish).Verdict, ledger.BackingOff)
	}},
	{"a back-off ends when an operator says now, once, and its failures stay counted [G5, S4]", func(w *world) {
		w.succeed()
		w.release(w.granted(publish), time.Hour)
		now := w.asked(publish, "m1")
		now.Now = true
		equal(w, "replay", w.replay(now).Outcome, ledger.Hastened)
		equal(w, "failures", w.effect(publish).Failing.Times, 1)
		w.release(w.granted(publish), time.Hour)
		equal(w, "redelivered", w.replay(now).Outcome, ledger.Repeated)
		equal(w, "claim", w.claim(publish).Verdict, ledger.BackingOff)
		equal(w, "failures", w.effect(publish).Failing.Times, 2)
		now.ID = "m2"
		w.replay(now)
		lease := w.granted(publish)
		now.ID = "m3"
		equal(w, "held", w.replay(now).Outcome, "")
		equal(w, "claim", w.claim(publish).Verdict, ledger.Held)
		w.finish(lease)
	}},
	{"a dead alert about what is no operation is reopened [R4]", func(w *world) {
		w.settings.Rules = []ledger.Rule{{Name: "page", Alerts: []ledger.Alert{ledger.AlertDisabled}}}
		if a, err := w.ledger().Passes.AlertAbout(w.ctx, "webhooks/x", ledger.AlertDisabled, time.Time{}, ""); err != nil ||
			a.Planned != 1 {
			w.Fatalf("%+v, %v", a, err)
		}
		w.name, w.settings.MaxAttempts = operation.Name{Key: "webhooks/x"}, 1
		effect := w.outbox.sent()[0].Effect
		w.markDead(effect)
		equal(w, "replay", w.replay(w.asked(effect, "m1")).Outcome, ledger.Reopened)
		w.finish(w.granted(effect))
	}},
	{"an effect that was never planned is planned, where a rule lists it [G5]", func(w *world) {
		w.settings.Rules = nil
		w.register()
		w.ingest(w.event("d1", operation.Succeeded, time.Second))
		w.lives("closed", false, w.settings.Retention)
		w.settings.Rules = []ledger.Rule{{Name: publish, On: []operation.State{operation.Succeeded}}}
		equal(w, "replay", w.replay(w.asked(publish, "m1")), ledger.Replayed{Effect: publish, Outcome: ledger.PlannedLate})
		w.lives("planned", false, 0)
		equal(w, "again", w.replay(w.asked(publish, "m1")).Outcome, ledger.Repeated)
		lease := w.granted(publish)
		equal(w, "fence", lease.Fence, 1)
		w.finish(lease)
		equal(w, "done", w.replay(w.asked(publish, "m2")).Outcome, "")
	}},
	{"what cannot be replayed, and why [G5]", func(w *world) {
		w.refused(w.asked(publish, "m1"), "no such operation")
		w.ingest(w.event("d1", operation.Running, time.Second))
		w.refused(w.asked(publish, "m1"), "not registered")
		w.register()
		w.refused(w.asked(publish, "m1"), "RUNNING; its effects are planned when it ends")
		w.ingest(w.event("d2", operation.Failed, 2*time.Second))
		w.refused(w.asked(publish, "m1"), "FAILED")
		w.refused(w.asked("strange", "m1"), `no effect is named "strange"`)
		m := w.asked(alarm, "m1")
		m.Rerun = "a/b"
		w.refused(m, "rerun")
		w.finish(w.granted(alarm))
		w.delete(ledger.EffectPath(w.name.Key, alarm))
		w.refused(w.asked(alarm, "m1"), "done")
	}},
}, lostly("Replay: reopened, once [G5]", func(w *world, l *ledger.Ledger) {
	w.died()
	var r ledger.Replayed
	if err := w.replaying(w.asked(publish, "m1"), &r)(l); err != nil {
		w.Fatal(err)
	}
	equal(w, "outcome", r.Outcome, ledger.Reopened)
	equal(w, "version", w.effect(publish).Version, 4)
	equal(w, "redelivered", w.replay(w.asked(publish, "m1")).Outcome, ledger.Repeated)
	w.finish(w.granted(publish))
}), lostly("Replay: reopened, claimed and dead again before the next try [G5]", func(w *world, _ *ledger.Ledger) {
	w.died()
	var r ledger.Replayed
	l := w.over(Inject(afterCommit{w.store, func() { w.markDead(publish) }}, LoseAnswer))
	if err := w.replaying(w.asked(publish, "m1"), &r)(l); err != nil {
		w.Fatal(err)
	}
	equal(w, "outcome", r.Outcome, ledger.Reopened)
	equal(w, "state", w.effect(publish).State, ledger.EffectDead)
}), unanswered("Replay: planned late, once [G5]", func(w *world, lossy func() *ledger.Ledger) {
	rules := w.settings.Rules
	w.settings.Rules = nil
	w.register()
	w.ingest(w.event("d1", operation.Succeeded, time.Second))
	w.settings.Rules = rules
	for id, m := range map[string]ledger.Message{"with an id": w.asked(publish, "m1"), "without": w.asked(publish, "")} {
		var r ledger.Replayed
		if err := w.replaying(m, &r)(lossy()); err != nil {
			w.Fatalf("%s: %v", id, err)
		}
		if r.Outcome == ledger.Repeated {
			w.Errorf("%s: %+v", id, r)
		}
	}
	equal(w, "fence", w.granted(publish).Fence, 1)
}))
