package ledgertest

import (
	"errors"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// begun begins a pass on l.
func (w *world) begun(l *ledger.Ledger) *ledger.Lookups {
	w.Helper()
	k, err := l.Passes.Begin(w.ctx, passTime)
	if err != nil {
		w.Fatal(err)
	}
	return k
}

// reported ends a pass that took a second and checked so many operations.
func (w *world) reported(k *ledger.Lookups, checked int) ledger.Pass {
	w.Helper()
	pass := ledger.Pass{
		Began: k.Start(), Ended: k.Start().Add(time.Second), Outcome: ledger.PassDone, Checked: checked,
		Webhook: ledger.WebhookEnabled, Effects: ledger.EffectsRunning,
	}
	if err := k.Report(w.ctx, pass); err != nil {
		w.Fatal(err)
	}
	return pass
}

// last returns how the last pass ended.
func (w *world) last() ledger.Pass {
	w.Helper()
	last, now, err := w.ledger().Passes.Last(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	near(w, "the time", now.Sub(w.now()), 0)
	return last
}

var passLast = join([]ledgerTest{
	{"the last pass that ended is known, and none before the first", func(w *world) {
		equal(w, "before", w.last(), ledger.Pass{})
		first, second := w.begun(w.ledger()), w.begun(w.ledger())
		equal(w, "while two run", w.last(), ledger.Pass{})
		pass := w.reported(second, 2)
		equal(w, "after the second", w.last(), pass)
		pass = w.reported(first, 1) // it overlapped, and its version is not the stored one
		equal(w, "after both", w.last(), pass)
		w.store.Advance(w.settings.Interval)
		pass = w.reported(w.begun(w.ledger()), 3)
		equal(w, "after the next", w.last(), pass)
	}},
	{"it costs one write and no read", func(w *world) {
		for range 2 { // created, then changed
			counting := Count(w.store)
			k := w.begun(w.over(counting))
			w.ended(k)
			began := counting.Counts()
			w.reported(k, 0)
			all := counting.Counts()
			equal(w, "reads of the beginning", began.Gets, 1)
			equal(w, "writes before the report", began.Writes, 0)
			equal(w, "reads of the report", all.Gets-began.Gets, 0)
			equal(w, "its writes", all.Writes-began.Writes, 1)
		}
	}},
	{"a process that runs effects stores the pause, and passes that cannot know keep it [G5]", func(w *world) {
		store := func(pause ledger.Pause) {
			w.Helper()
			if err := w.ledger().Passes.StorePause(w.ctx, pause); err != nil {
				w.Fatal(err)
			}
		}
		report := func(k *ledger.Lookups, pass ledger.Pass) {
			w.Helper()
			pass.Began, pass.Ended = k.Start(), k.Start().Add(time.Second)
			if err := k.Report(w.ctx, pass); err != nil {
				w.Fatal(err)
			}
		}
		store(ledger.EffectsPaused)
		equal(w, "before the first pass", w.last(), ledger.Pass{Effects: ledger.EffectsPaused})
		equal(w, "a pass has ended", !w.last().IsZero(), false)
		before := w.document(marksPath).Token
		store(ledger.PauseOf(true))
		equal(w, "what is no news is not written", w.document(marksPath).Token, before)
		report(w.begun(w.ledger()), ledger.Pass{Outcome: ledger.PassDone, Checked: 1})
		equal(w, "after a pass that cannot know", w.last().Effects, ledger.EffectsPaused)
		overlaps := w.begun(w.ledger())
		store(ledger.EffectsRunning)
		equal(w, "the pass beside it", w.last().Checked, 1)
		report(overlaps, ledger.Pass{Outcome: ledger.PassDone, Checked: 2})
		equal(w, "after a pass that began before", w.last().Effects, ledger.EffectsRunning)
		report(w.begun(w.ledger()), ledger.Pass{Outcome: ledger.PassDone, Effects: ledger.EffectsPaused})
		equal(w, "after a pass that knows", w.last().Effects, ledger.EffectsPaused)
		w.raise(marksPath)
		before = w.document(marksPath).Token
		store(ledger.EffectsRunning)
		equal(w, "what a newer revision wrote [L6]", w.document(marksPath).Token, before)
	}},
	{"the marks of passes come and go beside it [R6]", func(w *world) {
		pass := w.reported(w.begun(w.ledger()), 0)
		w.aged()
		k, due := w.moved()
		equal(w, "marks", len(w.marked()), 1)
		equal(w, "the last pass", w.last(), pass)
		pass = w.reported(k, 1) // and has no answer
		equal(w, "marks", len(w.marked()), 1)
		equal(w, "the last pass", w.last(), pass)
		k.Conclude(due.Record.Key)
		w.ended(k)
		equal(w, "marks", len(w.marked()), 0)
		equal(w, "the last pass", w.last(), pass)
	}},
	{"that Gemini signs with another secret is kept, also through passes that cannot know [W1]", func(w *world) {
		report := func(found *ledger.WrongSecret) {
			w.Helper()
			k := w.begun(w.ledger())
			if err := k.Report(w.ctx, ledger.Pass{
				Began: k.Start(), Ended: k.Start().Add(time.Second), Outcome: ledger.PassDone, WrongSecret: found,
			}); err != nil {
				w.Fatal(err)
			}
		}
		shown := func(when string, want ledger.WrongSecret) {
			w.Helper()
			got := w.last().WrongSecret
			if got == nil {
				got = &ledger.WrongSecret{}
			}
			got.Version = 0
			if diff := cmp.Diff(want, *got); diff != "" {
				w.Errorf("%s: -want +got\n%s", when, diff)
			}
		}
		wrong := ledger.WrongSecret{Webhook: "w1", Shown: "whsec_...3frh", Compared: []string{"w0", "w1"}}
		knew := func() bool { return w.begun(w.ledger()).KnewSecret(wrong) }
		equal(w, "known before", knew(), false)
		report(&wrong)
		shown("found", wrong)
		equal(w, "known after", knew(), true)
		equal(w, "another known", w.begun(w.ledger()).KnewSecret(ledger.WrongSecret{Webhook: "w1", Shown: "whsec_...0000"}),
			false)
		report(nil)
		shown("after a pass that cannot know", wrong)
		if err := w.ledger().Passes.StorePause(w.ctx, ledger.EffectsPaused); err != nil {
			w.Fatal(err)
		}
		shown("after the pause is stored", wrong)
		report(&ledger.WrongSecret{})
		shown("after a pass that found the right one", ledger.WrongSecret{})
		equal(w, "known after the right one", knew(), false)
	}},
	{"when the webhook was found to have Gemini's secret is kept through passes that cannot know [W1]", func(w *world) {
		report := func(fits func(*ledger.Lookups) time.Time) (began time.Time) {
			w.Helper()
			k := w.begun(w.ledger())
			if err := k.Report(w.ctx, ledger.Pass{
				Began: k.Start(), Ended: k.Start().Add(time.Second), Outcome: ledger.PassDone, SecretFitsAt: fits(k),
			}); err != nil {
				w.Fatal(err)
			}
			return operation.Instant(k.Start())
		}
		unknown := func(*ledger.Lookups) time.Time { return time.Time{} }
		report(unknown)
		equal(w, "found so", w.last().SecretFitsAt.IsZero(), true)
		found := report((*ledger.Lookups).Start)
		equal(w, "found so", w.last().SecretFitsAt.Equal(found), true)
		report(unknown)
		if err := w.ledger().Passes.StorePause(w.ctx, ledger.EffectsPaused); err != nil {
			w.Fatal(err)
		}
		equal(w, "found so then", w.last().SecretFitsAt.Equal(found), true)
	}},
	{"that Gemini has no webhook is known of the last pass alone [W1]", func(w *world) {
		report := func(none bool) bool {
			w.Helper()
			k := w.begun(w.ledger())
			if err := k.Report(w.ctx, ledger.Pass{
				Began: k.Start(), Ended: k.Start().Add(time.Second), Outcome: ledger.PassDone, NoWebhook: none,
			}); err != nil {
				w.Fatal(err)
			}
			if err := w.ledger().Passes.StorePause(w.ctx, ledger.PauseOf(none)); err != nil {
				w.Fatal(err)
			}
			return w.last().NoWebhook
		}
		equal(w, "after a pass that found none", report(true), true)
		equal(w, "after one that did not", report(false), false)
	}},
	{"what a newer revision wrote is left alone [L6]", func(w *world) {
		w.reported(w.begun(w.ledger()), 0)
		w.raise(marksPath)
		before := w.document(marksPath).Token
		w.reported(w.begun(w.ledger()), 1)
		equal(w, "the document", w.document(marksPath).Token, before)
		_, now, err := w.ledger().Passes.Last(w.ctx)
		if !errors.Is(err, ledger.ErrNewer) || !errors.As(err, new(ledger.Broken)) {
			w.Errorf("Passes.Last: %v, want ErrNewer", err)
		}
		near(w, "the time", now.Sub(w.now()), 0)
	}},
	{"an older revision's pass leaves it, or removes it with the last mark [L5]", func(w *world) {
		type marks struct { // without Last
			Schema  int           `json:"schema" firestore:"schema"`
			Version int64         `json:"version" firestore:"version"`
			Marks   []ledger.Mark `json:"marks" firestore:"marks"`
		}
		pass := w.reported(w.begun(w.ledger()), 4)
		doc := w.document(marksPath)
		older := marks{Schema: operation.SchemaVersion, Version: 9}
		if _, err := w.store.Commit(w.ctx, ledger.Write{Path: marksPath, Token: doc.Token, Data: older}); err != nil {
			w.Fatal(err)
		}
		equal(w, "left", w.last(), pass)
		w.delete(marksPath)
		equal(w, "removed", w.last(), ledger.Pass{})
	}},
	{"an error is short, and holds no credential", func(w *world) {
		text := ledger.PassError(errors.New("Get https://host/path?key=secret-token: refused" + strings.Repeat(" x", 200)))
		if len(text) > 200 || strings.Contains(text, "secret-token") {
			w.Errorf("%q", text)
		}
	}},
}, unanswered("the report of a pass", func(w *world, lossy func() *ledger.Ledger) {
	for range 2 { // created, then changed
		pass := w.reported(w.begun(lossy()), 2)
		equal(w, "the last pass", w.last(), pass)
	}
	if err := lossy().Passes.StorePause(w.ctx, ledger.EffectsPaused); err != nil {
		w.Fatal(err)
	}
	equal(w, "the pause", w.last().Effects, ledger.EffectsPaused)
}))
