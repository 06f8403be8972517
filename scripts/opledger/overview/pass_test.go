package overview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestJudgePass: a pass that is late, one that failed and a webhook that does not deliver need an
// operator; a pass that was cut off, an unchecked webhook and a pause do not.
func TestJudgePass(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	ended := func(ago time.Duration, outcome ledger.PassOutcome, webhook ledger.WebhookHealth) Overview {
		return Overview{At: now, LastPass: ledger.Pass{
			Began: now.Add(-ago - 1500*time.Millisecond), Ended: now.Add(-ago), Outcome: outcome, Webhook: webhook,
			Checked: 3, Settled: 1, Requeued: 2,
		}}
	}
	failed := ended(0, ledger.PassFailed, ledger.WebhookUnknown)
	failed.LastPass.Error = "no rights"
	errs := ended(time.Minute, ledger.PassErrors, ledger.WebhookEnabled)
	errs.LastPass.Errors, errs.LastPass.Error = 2, "deadline"
	signedByAnother := ended(0, ledger.PassDone, ledger.WebhookEnabled)
	signedByAnother.LastPass.WrongSecret = &ledger.WrongSecret{Webhook: "w1", Shown: "whsec_...3frh"}
	signedByAny := ended(0, ledger.PassDone, ledger.WebhookNone)
	signedByAny.LastPass.WrongSecret = &ledger.WrongSecret{
		Webhook: "w2", Shown: "whsec_...3frh", Compared: []string{"w1", "w2"},
	}
	// Strangers alone were refused.
	polling := ended(0, ledger.PassDone, ledger.WebhookNone)
	polling.LastPass.NoWebhook = true
	polling.Refused = Refused{Count: 20, Reason: "no-secret", Unannounced: 1}
	// What was refused says the same, and is not said again.
	signedByAnother.Refused = Refused{Count: 20, Reason: "signature", Unannounced: 1}
	did := "3 look-ups, 1 completion found, 2 effects enqueued again"
	for _, c := range []struct {
		o              Overview
		words, webhook string
		problems       []string
	}{
		{Overview{At: now}, "none has reported yet", "not known", nil},
		{ended(15*time.Minute-1, ledger.PassDone, ledger.WebhookEnabled), "14m59s ago, in 1s: " + did, "enabled", nil},
		{
			ended(15*time.Minute, ledger.PassMore, ledger.WebhookNone),
			"15m00s ago, in 1s: it ended before everything due was handled, " + did,
			"none is known to the pass: none is configured, or none was created yet", []string{
				"the last pass ended 15m00s ago, and one is made every 5m00s: do the scheduled passes run? | opledger reconcile",
			},
		},
		{
			failed, "0s ago, in 1s: it could not read the ledger", "not known",
			[]string{"the last pass could not read the ledger: no rights | opledger reconcile"},
		},
		{
			errs, "1m00s ago, in 1s: 2 errors, " + did, "enabled", []string{
				"the last pass could not handle 2 documents, first: deadline | opledger reconcile",
			},
		},
		{
			ended(0, ledger.PassDone, ledger.WebhookDisabled), "0s ago, in 1s: " + did, "disabled: nothing is delivered",
			[]string{
				"the webhook is disabled: Gemini delivers nothing, and every completion waits for a look-up" +
					" | opledger webhook check",
			},
		},
		{
			ended(0, ledger.PassDone, ledger.WebhookMissing), "0s ago, in 1s: " + did,
			"missing: Gemini has none for the configured address", []string{
				"Gemini has no webhook for the configured address: every completion waits for a look-up" +
					" | opledger webhook check",
			},
		},
		{
			signedByAnother, "0s ago, in 1s: " + did,
			"it refuses each delivery: Gemini signs with whsec_...3frh, which it does not know", []string{
				"Gemini signs the webhook's deliveries with whsec_...3frh, which the webhook does not know: it refuses each, " +
					"and every completion waits for a look-up | opledger webhook check",
			},
		},
		{
			signedByAny, "0s ago, in 1s: " + did,
			"it refuses each delivery: Gemini signs with whsec_...3frh, which it does not know", []string{
				"Gemini signs the webhook's deliveries with whsec_...3frh, which the webhook does not know: it refuses each, " +
					"and every completion waits for a look-up; without OPLEDGER_WEBHOOK_URL Gemini's webhooks were " +
					"compared: w1, w2 | opledger webhook check",
			},
		},
		{polling, "0s ago, in 1s: " + did, "none: Gemini has none, and look-ups find every completion", nil},
	} {
		c.o.judge(Options{Interval: 5 * time.Minute})
		var got []string
		for _, p := range c.o.Problems {
			got = append(got, p.Words+" | "+p.Command)
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.problems) {
			t.Errorf("%q\nwant\n%q", got, c.problems)
		}
		if words := c.o.PassWords(); words != c.words {
			t.Errorf("the pass: %q, want %q", words, c.words)
		}
		if words := c.o.WebhookWords(); words != c.webhook {
			t.Errorf("the webhook: %q, want %q", words, c.webhook)
		}
	}
}

// TestWebhookNeedsVariables: of a ledger in a file the words say what the command needs, which no serve answers.
func TestWebhookNeedsVariables(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	o := Overview{At: now, LastPass: ledger.Pass{Ended: now, Outcome: ledger.PassDone, Webhook: ledger.WebhookDisabled}}
	for file, want := range map[bool]int{true: 1, false: 0} {
		o.judge(Options{Interval: 5 * time.Minute, File: file})
		if len(o.Problems) != 1 || strings.Count(o.Problems[0].Words, "; the command needs the variables of serve") != want {
			t.Errorf("in a file %v: %+v", file, o.Problems)
		}
	}
}

// TestEffectWords: in a pause no worker runs an enqueued effect, and no words say that it was enqueued.
func TestEffectWords(t *testing.T) {
	t.Parallel()
	for want, pass := range map[string]ledger.Pass{
		"2 effects enqueued again":            {Requeued: 2, Effects: ledger.EffectsRunning},
		"1 effect enqueued again":             {Requeued: 1},
		"1 effect waits for the pause to end": {Requeued: 1, Effects: ledger.EffectsPaused},
		"3 effects wait for the pause to end": {Requeued: 3, Effects: ledger.EffectsPaused},
		"0 effects enqueued again":            {Effects: ledger.EffectsPaused},
	} {
		if got := EffectWords(pass); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
