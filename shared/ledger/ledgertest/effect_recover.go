package ledgertest

import (
	"errors"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// recover records that an effect of the world's operation had been done.
func (w *world) recover(effect string) ledger.RecoverOutcome {
	w.Helper()
	outcome, err := w.ledger().Effects.Recover(w.ctx, w.name.Key, effect, "ops@example.com")
	if err != nil {
		w.Fatalf("Recover: %v", err)
	}
	return outcome
}

// recovered checks that an effect is done, as an operator recorded.
func (w *world) recovered(name string) {
	w.Helper()
	effect := w.effect(name)
	equal(w, "state", effect.State, ledger.EffectDone)
	if effect.Recovered == nil || effect.Recovered.By != "ops@example.com" || effect.Recovered.At.IsZero() {
		w.Errorf("who recovered it: %+v", effect.Recovered)
	}
	equal(w, "the record", w.record().Effects[name], operation.EffectDone)
	equal(w, "claim", w.claim(name).Verdict, ledger.Done)
}

// restored is when a world's store was restored: now.
func (w *world) restored() time.Time {
	w.Helper()
	w.settings.RestoredAt = w.now()
	return w.settings.RestoredAt
}

var effectRecover = join([]ledgerTest{
	{"fences go on above all that were granted before a restore, of old effects and new ones [S6]", func(w *world) {
		w.succeed()
		before := w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL)
		at := w.restored()
		after := w.granted(publish)
		equal(w, "fence", after.Fence, at.UnixMilli())
		w.lost(before)
		w.store.Advance(w.settings.ClaimTTL)
		equal(w, "the next fence", w.granted(publish).Fence, at.UnixMilli()+1)
		w.name = nameOf(w, "batches/planned-afterwards")
		w.succeed()
		equal(w, "fence of what is planned afterwards", w.granted(publish).Fence, at.UnixMilli())
	}},
	{"an effect that was done is done again without being run [S7]", func(w *world) {
		w.succeed()
		equal(w, "outcome", w.recover(publish), ledger.RecoverDone)
		w.recovered(publish)
		w.lives("recovered", false, w.settings.Retention)
		equal(w, "again", w.recover(publish), ledger.RecoverKnown)
		equal(w, "attempts", w.effect(publish).Attempts, 0)
	}},
	{"what a worker finished itself is left as it is [S7]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		equal(w, "outcome", w.recover(publish), ledger.RecoverKnown)
		if r := w.effect(publish).Recovered; r != nil {
			w.Errorf("recovered: %+v", r)
		}
	}},
	{"what was dead in the backup, or waived, and was run after it, is done [S2, S7]", func(w *world) {
		w.died()
		waiver := ledger.Decision{By: "ann", Why: "by hand"}
		if _, err := w.ledger().Effects.Waive(w.ctx, w.name.Key, publish, waiver); err != nil {
			w.Fatal(err)
		}
		equal(w, "outcome", w.recover(publish), ledger.RecoverDone)
		w.recovered(publish)
		if a := w.effect(publish).Abandoned; a != nil {
			w.Errorf("still waived: %+v", a)
		}
		w.lives("recovered", false, w.settings.Retention)
	}},
	{"an effect that a worker runs now is left to it; once the lease is over it is not [S2, S6]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		equal(w, "outcome", w.recover(publish), ledger.RecoverHeld)
		equal(w, "state", w.effect(publish).State, ledger.EffectClaimed)
		w.store.Advance(w.settings.ClaimTTL)
		equal(w, "outcome", w.recover(publish), ledger.RecoverDone)
		w.recovered(publish)
		if err := w.ledger().Effects.Extend(w.ctx, lease); !errors.Is(err, ledger.ErrLeaseLost) {
			w.Errorf("Extend: %v, want ErrLeaseLost", err)
		}
	}},
	{"an effect that is not planned yet is not created [S3]", func(w *world) {
		w.register()
		equal(w, "outcome", w.recover(publish), ledger.RecoverUnplanned)
		if w.document(ledger.EffectPath(w.name.Key, publish)).Exists() {
			w.Error("there is an effect")
		}
	}},
	{"what is open is listed, due or not, and what is done or dead is not [R5]", func(w *world) {
		var open []operation.Key
		for _, id := range []string{"a", "b", "c", "d"} {
			w.name = nameOf(w, "batches/"+id)
			w.succeed()
			w.store.Advance(time.Millisecond)
			switch id {
			case "a":
				w.finish(w.granted(publish))
			case "b":
				w.markDead(publish)
			case "c": // due when its lease ends
				w.granted(publish)
				open = append(open, w.name.Key)
			default:
				open = append([]operation.Key{w.name.Key}, open...)
			}
		}
		var found []operation.Key
		for after := (ledger.Cursor{}); ; {
			page, err := w.ledger().Effects.Open(w.ctx, after, 1)
			if err != nil {
				w.Fatal(err)
			}
			for _, d := range page.Items {
				found = append(found, d.Effect.Operation)
			}
			if after = page.Next; after.Path == "" {
				break
			}
		}
		if !slices.Equal(found, open) {
			w.Errorf("open: %v, want %v", found, open)
		}
	}},
}, lostly("Recover: what was recorded is not known before [S7]", func(w *world, l *ledger.Ledger) {
	w.succeed()
	outcome, err := l.Effects.Recover(w.ctx, w.name.Key, publish, "ops@example.com")
	if err != nil || outcome != ledger.RecoverDone {
		w.Errorf("%s, %v", outcome, err)
	}
	w.recovered(publish)
}))
