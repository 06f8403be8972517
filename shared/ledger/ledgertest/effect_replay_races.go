package ledgertest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var effectReplayRaces = join(
	both("two replays by one message [G5]", func(w *world) (a, b move, check func()) {
		w.died()
		var one, two ledger.Replayed
		return w.replaying(w.asked(publish, "m1"), &one), w.replaying(w.asked(publish, "m1"), &two), func() {
			outcomes := []ledger.ReplayOutcome{one.Outcome, two.Outcome}
			slices.Sort(outcomes)
			if !slices.Equal(outcomes, []ledger.ReplayOutcome{ledger.Reopened, ledger.Repeated}) {
				w.Errorf("%q", outcomes)
			}
			equal(w, "remembered", len(w.effect(publish).Replays), 1)
			equal(w, "fence", w.granted(publish).Fence, 2)
		}
	}),
	both("two replays by two messages [G5]", func(w *world) (a, b move, check func()) {
		w.died()
		var one, two ledger.Replayed
		return w.replaying(w.asked(publish, "m1"), &one), w.replaying(w.asked(publish, "m2"), &two), func() {
			equal(
				w, "reopened",
				count([]ledger.Replayed{one, two}, func(r ledger.Replayed) bool { return r.Outcome == ledger.Reopened }), 1,
			)
			w.markDead(publish)
			for _, id := range []string{"m1", "m2"} {
				equal(w, id+", redelivered", w.replay(w.asked(publish, id)).Outcome, ledger.Repeated)
			}
		}
	}),
	both("a replay against a claim [G5, S3]", func(w *world) (a, b move, check func()) {
		w.succeed()
		var r ledger.Replayed
		var grant ledger.Grant
		return w.replaying(w.asked(publish, "m1"), &r), w.claiming(&grant), func() {
			equal(w, "replay", r.Outcome, "")
			equal(w, "claim", grant.Verdict, ledger.Claimed)
			w.finish(grant.Lease)
		}
	}),
	both("a replay against the waiver [G5]", func(w *world) (a, b move, check func()) {
		w.died()
		var r ledger.Replayed
		return w.replaying(w.asked(publish, "m1"), &r), func(l *ledger.Ledger) error {
				_, err := l.Effects.Waive(w.ctx, w.name.Key, publish, givingUp)
				if errors.Is(err, ledger.ErrNotDead) {
					return nil
				}
				return err
			}, func() {
				equal(w, "replay", r.Outcome, ledger.Reopened)
				equal(w, "the record", w.record().Effects[publish], operation.EffectOpen)
				w.finish(w.granted(publish))
			}
	}),
	both("a replay against the holder's end [G5, S6]", func(w *world) (a, b move, check func()) {
		w.succeed()
		lease := w.granted(publish)
		var r ledger.Replayed
		b = func(l *ledger.Ledger) error { return l.Effects.MarkDead(w.ctx, lease, errFailed) }
		return w.replaying(w.asked(publish, "m1"), &r), b, func() {
			effect := w.effect(publish)
			if reopened := effect.State == ledger.EffectPending; reopened != (r.Outcome == ledger.Reopened) {
				w.Errorf("%s, and the effect is %s", r.Outcome, effect.State)
			}
			if effect.State == ledger.EffectDead {
				equal(w, "redelivered", w.replay(w.asked(publish, "m1")).Outcome, ledger.Repeated)
			} else {
				w.lost(lease)
			}
			equal(w, "fence", effect.Fence, 1)
		}
	}),
	both("a rerun planned against the first run's claim [G5, S3]", func(w *world) (a, b move, check func()) {
		w.succeed()
		var r ledger.Replayed
		var grant ledger.Grant
		return w.replaying(w.again("a", "m1"), &r), w.claiming(&grant), func() {
			equal(w, "replay", r.Outcome, ledger.PlannedRerun)
			equal(w, "claim", grant.Verdict, ledger.Claimed)
			equal(w, "the run", w.claim("publish@a").Verdict, ledger.Held)
			w.finish(grant.Lease)
			w.finish(w.granted("publish@a"))
		}
	}),
	both("one run planned twice [G5]", func(w *world) (a, b move, check func()) {
		w.done()
		var one, two ledger.Replayed
		return w.replaying(w.again("a", "m1"), &one), w.replaying(w.again("a", "m2"), &two), func() {
			equal(
				w, "planned",
				count([]ledger.Replayed{one, two}, func(r ledger.Replayed) bool { return r.Outcome == ledger.PlannedRerun }), 1,
			)
			equal(w, "runs", w.effect(publish).Runs, 1)
			equal(w, "effects", len(w.show().Effects), 2)
		}
	}),
	both("two runs planned [G5]", func(w *world) (a, b move, check func()) {
		w.done()
		var one, two ledger.Replayed
		return w.replaying(w.again("a", "m1"), &one), w.replaying(w.again("b", "m1"), &two), func() {
			equal(w, "runs", w.effect(publish).Runs, 2)
			equal(w, "named", len(w.record().Effects), 3)
		}
	}),
	both("two runs claimed: never at once [G5, S3]", func(w *world) (a, b move, check func()) {
		w.done()
		w.replay(w.again("a", "m1"))
		w.replay(w.again("b", "m1"))
		var one, two ledger.Grant
		claiming := func(run string, g *ledger.Grant) move {
			return func(l *ledger.Ledger) (err error) {
				*g, err = l.Effects.Claim(w.ctx, w.name.Key, run)
				return err
			}
		}
		return claiming("publish@a", &one), claiming("publish@b", &two), func() {
			grants := []ledger.Grant{one, two}
			equal(w, "claimed", count(grants, func(g ledger.Grant) bool { return g.Verdict == ledger.Claimed }), 1)
			equal(w, "held", count(grants, func(g ledger.Grant) bool { return g.Verdict == ledger.Held }), 1)
		}
	}),
	[]ledgerTest{
		{"24 claims of four runs at once, round after round [G5, S3]", func(w *world) {
			w.succeed()
			for i := range 3 {
				w.replay(w.again(fmt.Sprint("n", i), "m"))
			}
			w.jitter = nil
			runs := []string{publish, "publish@n0", "publish@n1", "publish@n2"}
			for done := range runs {
				grants := crowd(w, 24, func(l *ledger.Ledger, i int) (ledger.Grant, error) {
					return l.Effects.Claim(w.ctx, w.name.Key, runs[i%len(runs)])
				})
				claimed := slices.DeleteFunc(grants, func(g ledger.Grant) bool { return g.Verdict != ledger.Claimed })
				if len(claimed) != 1 {
					w.Fatalf("%d done: %d claimed", done, len(claimed))
				}
				w.finish(claimed[0].Lease)
			}
			w.lives("all done", false, w.settings.Retention)
		}},
		{"16 redeliveries at once reopen once [G5]", func(w *world) {
			w.died()
			w.jitter = nil
			replays := crowd(w, 16, func(l *ledger.Ledger, _ int) (ledger.Replayed, error) {
				return l.Effects.Replay(w.ctx, w.asked(publish, "m1"))
			})
			equal(w, "reopened", count(replays, func(r ledger.Replayed) bool { return r.Outcome == ledger.Reopened }), 1)
			equal(w, "the rest", count(replays, func(r ledger.Replayed) bool { return r.Outcome == ledger.Repeated }), 15)
		}},
	},
)
