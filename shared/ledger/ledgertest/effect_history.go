package ledgertest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// An answeredError is a failure with the HTTP status of the answer that it is about.
type answeredError struct{ text string }

func (e answeredError) Error() string { return e.text }

func (answeredError) HTTPStatus() int { return 503 }

// history checks the outcomes of the effect "publish", from its first remembered attempt on.
func (w *world) history(want ...ledger.AttemptOutcome) []ledger.Attempt {
	w.Helper()
	history := w.effect(publish).History
	var got []ledger.AttemptOutcome
	for _, a := range history {
		got = append(got, a.Outcome)
	}
	equal(w, "the history", fmt.Sprint(got), fmt.Sprint(want))
	return history
}

var effectHistory = join([]ledgerTest{
	{"each attempt is one entry, which its claim opens and its end closes", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		open := w.history("")[0]
		equal(w, "fence", open.Fence, lease.Fence)
		equal(w, "open", open.Began.Before(w.start) || !open.Ended.IsZero(), false)
		w.store.Advance(time.Second)
		cause := fmt.Errorf("posting: %w", answeredError{"503 from https://h.example/T0/token?sig=1"})
		failure, err := w.ledger().Effects.Release(w.ctx, lease, cause, 0)
		if err != nil {
			w.Fatalf("Release: %v", err)
		}
		failed := w.history(ledger.AttemptFailed)[0]
		equal(w, "status", failed.Status, 503)
		equal(w, "error", failed.Error, "posting: 503 from https://h.example/[path]")
		equal(w, "last error", w.effect(publish).LastError, failed.Error)
		equal(w, "began", failed.Began.Equal(open.Began), true)
		equal(w, "took a second", failed.Ended.Sub(failed.Began) >= time.Second, true)

		w.store.Advance(failure.Wait)
		w.granted(publish)
		leaseEnd := w.effect(publish).ClaimableAt
		w.store.Advance(2 * w.settings.ClaimTTL)
		w.finish(w.granted(publish))
		all := w.history(ledger.AttemptFailed, ledger.AttemptInterrupted, ledger.AttemptDone)
		equal(w, "ended with its lease", all[1].Ended.Equal(leaseEnd), true)
		equal(w, "done at", all[2].Ended.Equal(w.effect(publish).DoneAt), true)
		equal(w, "fence", all[2].Fence, int64(3))
	}},
	{"an attempt that continues is one entry [S4]", func(w *world) {
		w.succeed()
		for i := range int64(4) {
			lease := w.granted(publish)
			w.recordItems(lease, lease.Progress, numbered(i, 1))
			if _, err := w.ledger().Effects.Continue(w.ctx, lease); err != nil {
				w.Fatalf("Continue: %v", err)
			}
			w.history(ledger.AttemptContinued)
			w.store.Advance(time.Second)
		}
		w.finish(w.granted(publish))
		entry := w.history(ledger.AttemptDone)[0]
		equal(w, "took 4 seconds", entry.Ended.Sub(entry.Began) >= 4*time.Second, true)
		equal(w, "fence", entry.Fence, int64(5))
	}},
	{"an attempt that continues is not that of an earlier version's claim", func(w *world) {
		w.succeed()
		if _, err := w.ledger().Effects.Continue(w.ctx, w.granted(publish)); err != nil {
			w.Fatalf("Continue: %v", err)
		}
		doc := w.document(ledger.EffectPath(w.name.Key, publish))
		var effect ledger.Effect
		if err := doc.Decode(&effect); err != nil {
			w.Fatal(err)
		}
		effect.Version++
		effect.Fence++ // claimed and released by one that keeps no history
		effect.Attempts++
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: doc.Path, Token: doc.Token, Data: effect}); err != nil {
			w.Fatal(err)
		}
		w.finish(w.granted(publish))
		history := w.history(ledger.AttemptContinued, ledger.AttemptDone)
		equal(w, "fences", fmt.Sprint(history[0].Fence, history[1].Fence), "1 3")
	}},
	{"the last ten attempts are kept, with errors of 200 bytes", func(w *world) {
		w.succeed()
		for i := range 13 {
			failure, err := w.ledger().Effects.Release(w.ctx, w.granted(publish), errors.New(strings.Repeat("é", 300)), 0)
			if err != nil {
				w.Fatalf("Release %d: %v", i, err)
			}
			w.store.Advance(failure.Wait)
		}
		history := w.effect(publish).History
		equal(w, "entries", len(history), 10)
		equal(w, "the first", history[0].Fence, int64(4))
		equal(w, "its error is cut", len(history[0].Error) > 190 && len(history[0].Error) <= 200, true)
	}},
	{"a replay keeps the history, and clears when the effect died [G5]", func(w *world) {
		w.succeed()
		w.markDead(publish)
		died := w.effect(publish).DiedAt
		equal(w, "died", died.Equal(w.history(ledger.AttemptDead)[0].Ended), true)
		if _, err := w.ledger().Effects.Waive(w.ctx, w.name.Key, publish, givingUp); err != nil {
			w.Fatalf("Effects.Waive: %v", err)
		}
		equal(w, "waived", w.effect(publish).DiedAt.Equal(died), true)
		w.replay(w.asked(publish, "m1"))
		equal(w, "reopened", w.effect(publish).DiedAt.IsZero(), true)
		w.finish(w.granted(publish))
		w.history(ledger.AttemptDead, ledger.AttemptDone)
		equal(w, "done", w.effect(publish).DiedAt.IsZero(), true)
	}},
	{"an effect that dies of lost leases ends its last attempt with the lease [S2]", func(w *world) {
		w.settings.MaxAttempts = 1
		w.succeed()
		w.crash(3)
		before := w.now()
		equal(w, "claim", w.claim(publish).Verdict, ledger.Exhausted)
		w.history(ledger.AttemptInterrupted, ledger.AttemptInterrupted, ledger.AttemptInterrupted)
		equal(w, "died now", w.effect(publish).DiedAt.Before(before), false)
	}},
	{"given up after its last failure", func(w *world) {
		w.settings.MaxAttempts, w.settings.RetryFor = 1, 0
		w.succeed()
		equal(w, "dead", w.fail(0).Dead, true)
		entry := w.history(ledger.AttemptDead)[0]
		equal(w, "error", entry.Error, errFailed.Error())
		equal(w, "died", w.effect(publish).DiedAt.Equal(entry.Ended), true)
	}},
	{"it died of what its last attempt failed with, also where that speaks as the ledger does [S4]", func(w *world) {
		w.succeed()
		w.store.Advance(w.fail(0).Wait)
		said := errors.New("failed attempts: 2 at the printer; the last error: no paper")
		equal(w, "the cause of a failure", w.effect(publish).Cause(), errFailed.Error())
		if err := w.ledger().Effects.MarkDead(w.ctx, w.granted(publish), said); err != nil {
			w.Fatalf("MarkDead: %v", err)
		}
		equal(w, "the cause of its death", w.effect(publish).Cause(), said.Error())
	}},
	{"an effect that an earlier version claimed is finished without an entry", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		doc := w.document(ledger.EffectPath(w.name.Key, publish))
		var effect ledger.Effect
		if err := doc.Decode(&effect); err != nil {
			w.Fatal(err)
		}
		effect.Version++
		effect.History = nil
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: doc.Path, Token: doc.Token, Data: effect}); err != nil {
			w.Fatal(err)
		}
		w.finish(lease)
		w.history()
	}},
	{"an item keeps its last failure, also when it is done", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		outcome := numbered(0, 1)
		outcome[0].Err = answeredError{"503 from https://h.example/T0/token"}
		progress := w.recordItems(lease, lease.Progress, outcome)
		path := ledger.ItemPath(w.name.Key, publish, outcome[0].Key)
		failed := read[ledger.Item](w, path)
		equal(w, "error", failed.LastError, "503 from https://h.example/[path]")
		equal(w, "status", failed.LastStatus, 503)
		equal(w, "at", failed.LastFailedAt.Before(w.start), false)
		w.recordItems(lease, progress, known(numbered(0, 1)...))
		done := read[ledger.Item](w, path)
		equal(w, "state", done.State, ledger.ItemDone)
		equal(w, "kept", fmt.Sprint(done.LastError, done.LastStatus, done.LastFailedAt.Equal(failed.LastFailedAt)),
			fmt.Sprint(failed.LastError, failed.LastStatus, true))
	}},
},
	lostly("Claim: one entry [S3]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		if grant, err := l.Effects.Claim(w.ctx, w.name.Key, publish); err != nil || grant.Verdict != ledger.Claimed {
			w.Fatalf("%+v, %v", grant, err)
		}
		w.history("")
	}),
	lostly("Release: one entry [S4]", func(w *world, l *ledger.Ledger) {
		w.succeed()
		w.failed(l, w.granted(publish), 0)
		w.history(ledger.AttemptFailed)
	}),
)
