package ledgertest

import (
	"errors"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// lost checks that every use of lease is refused and changes nothing [S6].
func (w *world) lost(lease ledger.Lease) {
	w.Helper()
	effect, record := ledger.EffectPath(lease.Operation, lease.Effect), ledger.OperationPath(lease.Operation)
	effectToken, recordToken := w.document(effect).Token, w.document(record).Token
	l := w.ledger()
	_, releaseErr := l.Effects.Release(w.ctx, lease, errFailed, 0)
	for what, err := range map[string]error{
		"Finish":   l.Effects.Finish(w.ctx, lease, ledger.Write{Path: pathC, Data: note{Text: "a zombie's"}}),
		"MarkDead": l.Effects.MarkDead(w.ctx, lease, errFailed),
		"Extend":   l.Effects.Extend(w.ctx, lease),
		"Release":  releaseErr,
	} {
		if !errors.Is(err, ledger.ErrLeaseLost) {
			w.Errorf("%s with a lost lease: %v, want ErrLeaseLost", what, err)
		}
	}
	equal(w, "the effect's token", w.document(effect).Token, effectToken)
	equal(w, "the record's token", w.document(record).Token, recordToken)
	equal(w, "a zombie's extra write was made", w.document(pathC).Exists(), false)
}

// claiming is a move that claims the effect "publish" and keeps the answer in g.
func (w *world) claiming(g *ledger.Grant) move {
	return func(l *ledger.Ledger) (err error) {
		*g, err = l.Effects.Claim(w.ctx, w.name.Key, publish)
		return err
	}
}

// zombies are the commits of a worker whose effect another worker claims meanwhile.
var zombies = []struct {
	name string
	move func(w *world, lease ledger.Lease) move
}{
	{"Finish", func(w *world, lease ledger.Lease) move {
		return func(l *ledger.Ledger) error {
			return l.Effects.Finish(w.ctx, lease, ledger.Write{Path: pathC, Data: note{}})
		}
	}},
	{"MarkDead", func(w *world, lease ledger.Lease) move {
		return func(l *ledger.Ledger) error { return l.Effects.MarkDead(w.ctx, lease, errFailed) }
	}},
	{"Release", func(w *world, lease ledger.Lease) move {
		return func(l *ledger.Ledger) error { _, err := l.Effects.Release(w.ctx, lease, errFailed, 0); return err }
	}},
	{"Extend", func(w *world, lease ledger.Lease) move {
		return func(l *ledger.Ledger) error { return l.Effects.Extend(w.ctx, lease) }
	}},
}

// zombieRaces stop a worker just before its commit, let its lease run out, and let another one
// claim or end the effect.
func zombieRaces() []ledgerTest {
	var tests []ledgerTest
	for _, zombie := range zombies {
		for _, ends := range []bool{false, true} {
			name := zombie.name + " stopped in mid-commit, and seized"
			if ends {
				name += " and finished"
			}
			tests = append(tests, ledgerTest{name + " [S6]", func(w *world) {
				w.succeed()
				first := w.granted(publish)
				var second ledger.Lease
				slowErr, _ := w.race(zombie.move(w, first), func(*ledger.Ledger) error {
					w.store.Advance(w.settings.ClaimTTL + time.Second)
					if second = w.granted(publish); ends {
						w.finish(second)
					}
					return nil
				})
				if !errors.Is(slowErr, ledger.ErrLeaseLost) {
					w.Errorf("%s: %v, want ErrLeaseLost", zombie.name, slowErr)
				}
				equal(w, "a zombie's extra write was made", w.document(pathC).Exists(), false)
				if !ends {
					equal(w, "the owner", w.effect(publish).Owner, second.Owner)
					w.finish(second)
				}
				equal(w, "the effect", w.effect(publish).State, ledger.EffectDone)
				equal(w, "its fence", w.effect(publish).Fence, second.Fence)
				equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
			}})
		}
	}
	return tests
}

var effectClaimRaces = join(
	both("two claims [S3]", func(w *world) (a, b move, check func()) {
		w.succeed()
		var one, two ledger.Grant
		return w.claiming(&one), w.claiming(&two), func() {
			grants := []ledger.Grant{one, two}
			equal(w, "claimed", count(grants, func(g ledger.Grant) bool { return g.Verdict == ledger.Claimed }), 1)
			equal(w, "held", count(grants, func(g ledger.Grant) bool { return g.Verdict == ledger.Held }), 1)
			equal(w, "fence", w.effect(publish).Fence, 1)
			equal(w, "attempts", w.effect(publish).Attempts, 1)
		}
	}),
	both("two seizures [S3, S6]", func(w *world) (a, b move, check func()) {
		w.succeed()
		w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		var one, two ledger.Grant
		return w.claiming(&one), w.claiming(&two), func() {
			equal(w, "seized", count([]ledger.Grant{one, two}, func(g ledger.Grant) bool { return g.Lease.Seized }), 1)
			equal(w, "fence", w.effect(publish).Fence, 2)
		}
	}),
	both("a claim against the sweep [R5]", func(w *world) (a, b move, check func()) {
		w.succeed()
		w.published(publish)
		page, err := w.ledger().Effects.Due(w.ctx, w.now(), ledger.Cursor{}, 10)
		if err != nil || len(page.Items) != 1 {
			w.Fatalf("due: %+v, %v", page, err)
		}
		var grant ledger.Grant
		return w.claiming(&grant), func(l *ledger.Ledger) error {
				err := l.Effects.Requeue(w.ctx, page.Items[0], w.now())
				if isConflict(err) {
					return nil
				}
				return err
			}, func() {
				equal(w, "claim", grant.Verdict, ledger.Claimed)
				equal(w, "due when the lease is over", w.effect(publish).DueAt, w.effect(publish).ClaimableAt)
				equal(w, "fence", w.effect(publish).Fence, 1)
			}
	}),
	[]ledgerTest{
		{"32 claims at once [S3]", func(w *world) {
			w.succeed()
			w.jitter = nil
			grants := crowd(
				w, 32, func(l *ledger.Ledger, _ int) (ledger.Grant, error) {
					return l.Effects.Claim(w.ctx, w.name.Key, publish)
				},
			)
			equal(w, "claimed", count(grants, func(g ledger.Grant) bool { return g.Verdict == ledger.Claimed }), 1)
			equal(w, "held", count(grants, func(g ledger.Grant) bool { return g.Verdict == ledger.Held }), 31)
			equal(w, "fence", w.effect(publish).Fence, 1)
		}},
		{"a holder whose effect was seized can do nothing [S6]", func(w *world) {
			w.succeed()
			first := w.granted(publish)
			w.store.Advance(w.settings.ClaimTTL + time.Second)
			second := w.granted(publish)
			w.lost(first)
			w.finish(second)
			// Nor after its successor finished.
			w.lost(first)
		}},
		{"a holder that gave its effect back can do nothing [S6]", func(w *world) {
			w.succeed()
			first := w.granted(publish)
			wait := w.release(first, 0)
			if err := w.ledger().Effects.Finish(w.ctx, first); !errors.Is(err, ledger.ErrLeaseLost) {
				w.Errorf("Finish after Release: %v, want ErrLeaseLost", err)
			}
			w.store.Advance(wait)
			w.granted(publish)
			w.lost(first)
		}},
		{"a holder does nothing to another end than its own [S6]", func(w *world) {
			w.succeed()
			lease := w.granted(publish)
			w.finish(lease)
			if err := w.ledger().Effects.MarkDead(w.ctx, lease, errFailed); !errors.Is(err, ledger.ErrLeaseLost) {
				w.Errorf("MarkDead after Finish: %v, want ErrLeaseLost", err)
			}
			if err := w.ledger().Effects.Extend(w.ctx, lease); !errors.Is(err, ledger.ErrLeaseLost) {
				w.Errorf("Extend after Finish: %v, want ErrLeaseLost", err)
			}
			equal(w, "the effect", w.effect(publish).State, ledger.EffectDone)
		}},
		{"a lease of an effect that is gone", func(w *world) {
			w.succeed()
			lease := w.granted(publish)
			w.delete(ledger.EffectPath(w.name.Key, publish))
			w.lost(lease)
		}},
		{"an exhausted claim against the last holder's finish [S3]", func(w *world) {
			w.settings.MaxAttempts = 1
			w.succeed()
			w.crash(2)
			lease := w.granted(publish)
			w.store.Advance(w.settings.ClaimTTL + time.Second)
			var grant ledger.Grant
			w.mustRace(w.claiming(&grant), func(l *ledger.Ledger) error { return l.Effects.Finish(w.ctx, lease) })
			equal(w, "claim", grant.Verdict, ledger.Done)
			equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
		}},
	},
	zombieRaces(),
)
