package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var errFailed = errors.New("the handler failed")

// release gives a lease back and returns how long the effect backs off.
func (w *world) release(lease ledger.Lease, retryAfter time.Duration) time.Duration {
	w.Helper()
	failure, err := w.ledger().Effects.Release(w.ctx, lease, errFailed, retryAfter)
	if err != nil {
		w.Fatalf("Release: %v", err)
	}
	return failure.Wait
}

var effectClaim = []ledgerTest{
	{"claim and finish [S1, S2]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		if lease.Operation != w.name.Key || lease.Effect != publish || lease.Fence != 1 || lease.Attempt != 1 ||
			lease.Seized || lease.Owner == "" {
			w.Errorf("the lease: %+v", lease)
		}
		equal(w, "its key [K4]", lease.IdempotencyKey, operation.IdempotencyKey(w.name.Key, publish))
		equal(w, "its payload", string(lease.Payload), w.effect(publish).Payload)
		effect := w.effect(publish)
		equal(w, "state", effect.State, ledger.EffectClaimed)
		near(w, "the lease", effect.ClaimableAt.Sub(w.start), w.settings.ClaimTTL)
		equal(w, "due when the lease is over", effect.DueAt, effect.ClaimableAt)
		equal(w, "the record", w.record().Effects[publish], operation.EffectOpen)

		w.finish(lease)
		effect = w.effect(publish)
		equal(w, "state", effect.State, ledger.EffectDone)
		if effect.DoneAt.IsZero() || !effect.DueAt.IsZero() || !effect.ClaimableAt.IsZero() {
			w.Errorf("the effect: %+v", effect)
		}
		equal(w, "the record", w.record().Effects[publish], operation.EffectDone)
		// Finishing again is safe.
		w.finish(lease)
	}},
	{"done is skipped [S2, S7]", func(w *world) {
		w.succeed()
		w.finish(w.granted(publish))
		w.store.Advance(w.settings.ClaimTTL * 2)
		before := w.effect(publish)
		for range 2 {
			equal(w, "claim", w.claim(publish).Verdict, ledger.Done)
		}
		equal(w, "version", w.effect(publish).Version, before.Version)
	}},
	{"absent is skipped [S2]", func(w *world) {
		equal(w, "of no operation", w.claim(publish).Verdict, ledger.Absent)
		w.succeed()
		equal(w, "of an operation", w.claim("nothing").Verdict, ledger.Absent)
	}},
	{"a live lease is left alone [S2]", func(w *world) {
		w.succeed()
		w.granted(publish)
		grant := w.claim(publish)
		equal(w, "claim", grant.Verdict, ledger.Held)
		equal(w, "the lease", grant.Lease.Owner, "")
		near(w, "held for", grant.RetryAfter, w.settings.ClaimTTL)
		w.store.Advance(w.settings.ClaimTTL / 2)
		near(w, "held for, later", w.claim(publish).RetryAfter, w.settings.ClaimTTL/2)
	}},
	{"a lease that ran out is seized, with a higher fence [S6]", func(w *world) {
		w.succeed()
		first := w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL + time.Second)
		second := w.granted(publish)
		equal(w, "seized", second.Seized, true)
		equal(w, "fence", second.Fence, first.Fence+1)
		equal(w, "attempt", second.Attempt, 2)
		equal(w, "key", second.IdempotencyKey, first.IdempotencyKey)
		equal(w, "payload", string(second.Payload), string(first.Payload))
		w.finish(second)
		equal(w, "claim", w.claim(publish).Verdict, ledger.Done)
	}},
	{"a failure backs off and is tried again [S4]", func(w *world) {
		w.succeed()
		first := w.granted(publish)
		wait := w.release(first, 0)
		if wait <= 0 || wait > w.settings.ClaimTTL/2 {
			w.Errorf("it waits for %v", wait)
		}
		effect := w.effect(publish)
		equal(w, "state", effect.State, ledger.EffectPending)
		equal(w, "last error", effect.LastError, errFailed.Error())
		equal(w, "the record", w.record().Effects[publish], operation.EffectOpen)
		// Releasing again is safe.
		w.release(first, 0)
		w.store.Advance(wait + 30*time.Second)
		second := w.granted(publish)
		equal(w, "seized", second.Seized, false)
		equal(w, "the fence never starts again", second.Fence, first.Fence+1)
		equal(w, "attempt", second.Attempt, 2)
		if !bytes.Equal(second.Payload, first.Payload) {
			w.Errorf("payload %s, then %s", first.Payload, second.Payload)
		}
	}},
	{"not claimable before claimableAt [S4]", func(w *world) {
		w.succeed()
		wait := w.release(w.granted(publish), time.Hour)
		equal(w, "the handler's own wish", wait, time.Hour)
		grant := w.claim(publish)
		equal(w, "claim", grant.Verdict, ledger.BackingOff)
		near(w, "for", grant.RetryAfter, time.Hour)
		equal(w, "nothing counted", w.effect(publish).Attempts, 1)
		w.store.Advance(30 * time.Minute)
		equal(w, "claim, later", w.claim(publish).Verdict, ledger.BackingOff)
		w.store.Advance(30*time.Minute + time.Second)
		w.granted(publish)
	}},
	{"the back-off grows, is bounded, and separates what failed together [S4]", func(w *world) {
		w.succeed()
		jitter := 0.0
		w.jitter = func() float64 { return jitter }
		for i, seconds := range []int{1, 4, 16, 64, 256, 1024, 3600, 3600} {
			jitter = float64(i%4) / 4
			half := time.Duration(seconds) * time.Second / 2
			wait := w.release(w.granted(publish), 0)
			equal(w, fmt.Sprint("the wait after attempt ", i+1), wait, half+time.Duration(jitter*float64(half)))
			w.store.Advance(wait)
		}
	}},
	{"an effect that can never succeed is marked dead [S2]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		if err := w.ledger().Effects.MarkDead(w.ctx, lease, errFailed); err != nil {
			w.Fatalf("MarkDead: %v", err)
		}
		// Marking it dead again is safe.
		if err := w.ledger().Effects.MarkDead(w.ctx, lease, errFailed); err != nil {
			w.Fatalf("MarkDead again: %v", err)
		}
		equal(w, "claim", w.claim(publish).Verdict, ledger.Dead)
		w.deadForGood(errFailed.Error())
	}},
	{"extending keeps others out [S5]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		for range 4 {
			w.store.Advance(w.settings.ClaimTTL * 2 / 3)
			if err := w.ledger().Effects.Extend(w.ctx, lease); err != nil {
				w.Fatalf("Extend: %v", err)
			}
			grant := w.claim(publish)
			equal(w, "claim", grant.Verdict, ledger.Held)
			near(w, "held for", grant.RetryAfter, w.settings.ClaimTTL)
		}
		effect := w.effect(publish)
		equal(w, "due when the lease is over", effect.DueAt, effect.ClaimableAt)
		w.finish(lease)
	}},
	{"a lease that ran out is still valid until another claim [S6]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		w.store.Advance(w.settings.ClaimTTL * 2)
		w.finish(lease)
	}},
	{"the status of a claim is read without claiming", func(w *world) {
		w.succeed()
		before := w.effect(publish)
		for _, want := range []ledger.Verdict{ledger.Claimed, ledger.Held} {
			if got, err := w.ledger().Effects.ClaimStatus(w.ctx, w.name.Key, publish); err != nil || got != want {
				w.Errorf("ClaimStatus: %s, %v, want %s", got, err, want)
			}
			if want == ledger.Claimed {
				equal(w, "version", w.effect(publish).Version, before.Version)
				w.granted(publish)
			}
		}
	}},
	{"declining is not claiming", func(w *world) {
		w.succeed()
		before := w.effect(publish)
		for range 2 {
			equal(w, "declined", w.decline(), ledger.Claimed)
		}
		equal(w, "version", w.effect(publish).Version, before.Version)
		w.granted(publish)
		equal(w, "declined while held", w.decline(), ledger.Held)
	}},
	{"extra writes of the handler are part of the commit [S1]", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		extra := ledger.Write{Path: pathC, Data: note{Text: "result"}}
		w.finish(lease, extra)
		w.finish(lease, extra)
		equal(w, "the extra write", read[note](w, pathC).Text, "result")
	}},
	{"an extra write that conflicts finishes nothing, and its error names the document", func(w *world) {
		w.succeed()
		lease := w.granted(publish)
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: pathC, Data: note{Text: "there"}}); err != nil {
			w.Fatal(err)
		}
		read := w.document(pathC).Token
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: pathC, Token: read, Data: note{Text: "changed"}}); err != nil {
			w.Fatal(err)
		}
		other := ledger.Write{Path: pathB, Data: note{}}
		for token, want := range map[ledger.Token]error{"": ledger.ErrExists, read: ledger.ErrContention} {
			err := w.ledger().Effects.Finish(w.ctx, lease, other, ledger.Write{Path: pathC, Token: token, Data: note{}})
			if !errors.Is(err, want) || !strings.Contains(err.Error(), string(pathC)) || ledger.Permanent(err) != (token == "") {
				w.Errorf("Finish: %v, want %v", err, want)
			}
		}
		equal(w, "the effect", w.effect(publish).State, ledger.EffectClaimed)
		equal(w, "the record", w.record().Effects[publish], operation.EffectOpen)
		equal(w, "the other extra write was made", w.document(pathB).Exists(), false)
	}},
	{"extra writes are written after lost races, too [M6]", func(w *world) {
		w.succeed()
		extra := ledger.Write{Path: pathC, Data: note{Text: "new"}}
		if err := w.over(Inject(w.store, Times(7, Abort)...)).Effects.Finish(w.ctx, w.granted(publish), extra); err != nil {
			w.Errorf("Finish: %v", err)
		}
		equal(w, "the extra write", read[note](w, pathC).Text, "new")
	}},
	{"what another worker wrote meanwhile is a lost lease, and no document that exists [S6]", func(w *world) {
		w.succeed()
		lease, extra := w.granted(publish), ledger.Write{Path: pathC, Data: note{Text: "once"}}
		overtaken := &overtaken{Store: Inject(w.store, Abort), at: pathC, by: func() {
			w.store.Advance(w.settings.ClaimTTL + time.Second)
			w.finish(w.granted(publish), extra)
		}}
		if err := w.over(overtaken).Effects.Finish(w.ctx, lease, extra); !errors.Is(err, ledger.ErrLeaseLost) {
			w.Errorf("Finish: %v, want ErrLeaseLost", err)
		}
		equal(w, "the effect", w.effect(publish).State, ledger.EffectDone)
	}},
	{"the text of an error is cut to what can be stored", func(w *world) {
		w.succeed()
		for _, cause := range []string{strings.Repeat("é", 3000), "\xff\xfe not text", strings.Repeat("x", 1999) + "é", ""} {
			lease := w.granted(publish)
			failure, err := w.ledger().Effects.Release(w.ctx, lease, errors.New(cause), 0)
			if err != nil {
				w.Fatalf("Release %.20q: %v", cause, err)
			}
			if got := w.effect(publish).LastError; len(got) > 2100 {
				w.Errorf("%d bytes of an error were kept", len(got))
			}
			w.store.Advance(failure.Wait)
		}
	}},
}

// overtaken lets another caller act before the first read of a document.
type overtaken struct {
	ledger.Store
	at ledger.Path
	by func()
}

func (s *overtaken) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if act := s.by; act != nil && slices.Contains(paths, s.at) {
		s.by = nil
		act()
	}
	return s.Store.Get(ctx, paths...)
}

// deadForGood checks that the effect "publish" is dead, that the record says so, and that neither
// is ever deleted [L3].
func (w *world) deadForGood(lastError string) {
	w.Helper()
	effect, rec := w.effect(publish), w.record()
	equal(w, "the effect", effect.State, ledger.EffectDead)
	equal(w, "its last error", effect.LastError, lastError)
	equal(w, "the record", rec.Effects[publish], operation.EffectDead)
	if !effect.ExpireAt.IsZero() || !rec.ExpireAt.IsZero() || !effect.DueAt.IsZero() || !rec.DueAt.IsZero() {
		w.Errorf("the effect: due %v, expires %v; the record: due %v, expires %v",
			effect.DueAt, effect.ExpireAt, rec.DueAt, rec.ExpireAt)
	}
}
