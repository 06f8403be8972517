package overview

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
)

// LateAfter is the age from which the last pass is late: three intervals.
func LateAfter(interval time.Duration) time.Duration { return 3 * interval }

// readPass reads how the last pass ended, and the store's time with it.
func (o *Overview) readPass(ctx context.Context, l ledger.Reading) error {
	var err error
	o.LastPass, o.At, err = l.Passes.Last(ctx)
	if unreadable, ok := errors.AsType[ledger.Broken](err); ok {
		o.Broken = append(o.Broken, unreadable)
		return nil
	}
	o.Unanswered, o.WrongSecret = o.LastPass.Unanswered, o.LastPass.WrongSecret
	switch o.LastPass.Effects {
	case ledger.EffectsPaused:
		o.Paused = true
	case ledger.EffectsRunning:
		o.Paused, o.PausedHere = false, o.Paused
	}
	return err
}

// judgePass adds what an operator must do about the passes and the webhook. Where no pass has
// reported, only overdue operations and effects can be reported.
func (o *Overview) judgePass(interval time.Duration, add adder) {
	last := o.LastPass
	if last.IsZero() {
		return
	}
	add(o.passIsLate(interval) && !o.Serve.stuck(), AboutPasses, "reconcile", "%s: do the scheduled passes run?",
		o.latePass(interval))
	switch last.Outcome {
	case ledger.PassFailed:
		add(true, AboutPasses, "reconcile", "the last pass could not read the ledger: %s",
			phrase.Safe(last.Error)).Playbook = "ledger-errors"
	case ledger.PassErrors:
		if o.Serve.cannotWrite() && o.passUnwritten() {
			break // judgeUnperformable says it beneath the cause
		}
		add(true, AboutPasses, "reconcile", "the last pass could not handle %s, first: %s",
			phrase.Counted(last.Errors, "document"), phrase.Safe(last.Error)).Playbook = "reconcile-errors"
	case ledger.PassDone, ledger.PassMore: // a backlog shows among the due operations
	}
	switch last.Webhook {
	case ledger.WebhookDisabled:
		add(true, AboutWebhook, "webhook check", "the webhook is disabled: Gemini delivers nothing, and every completion "+
			"waits for a look-up")
	case ledger.WebhookMissing:
		add(true, AboutWebhook, "webhook check", "Gemini has no webhook for the configured address: every completion "+
			"waits for a look-up")
	case ledger.WebhookEnabled, ledger.WebhookUnknown, ledger.WebhookNone:
	}
	if wrong := last.WrongSecret; wrong != nil {
		words := "Gemini signs the webhook's deliveries with " + phrase.Safe(wrong.Shown) + ", which the webhook does not " +
			"know: it refuses each, and every completion waits for a look-up"
		if among := wrong.Among(); among != "" {
			words += "; " + phrase.Safe(among)
		}
		add(true, AboutWebhook, "webhook check", "%s", words).Playbook = "wrong-secret"
	}
}

// PassWords says when the last pass ended and what it did, or that none has reported.
func (o Overview) PassWords() string {
	last := o.LastPass
	if last.IsZero() {
		return DoneWords(last)
	}
	return phrase.Relative(last.Ended, o.At) + ", in " + phrase.Took(last.Ended.Sub(last.Began)) + ": " + DoneWords(last)
}

// DoneWords says what a pass did; of the zero one, that none has reported.
func DoneWords(p ledger.Pass) string {
	words := ""
	switch {
	case p.IsZero():
		return "none has reported yet"
	case p.Outcome == ledger.PassFailed:
		return "it could not read the ledger"
	case p.Outcome == ledger.PassErrors:
		words = phrase.Counted(p.Errors, "error") + ", "
	case p.Outcome == ledger.PassMore:
		words = "it ended before everything due was handled, "
	}
	return words + phrase.Counted(p.Checked, "look-up") + ", " +
		phrase.Counted(p.Settled, "completion") + " found, " + EffectWords(p)
}

// EffectWords says what a pass did with the effects that were due. In a pause a worker runs none.
func EffectWords(p ledger.Pass) string {
	words := phrase.Counted(p.Requeued, "effect")
	switch {
	case p.Effects != ledger.EffectsPaused || p.Requeued == 0:
		return words + " enqueued again"
	case p.Requeued == 1:
		return words + " waits for the pause to end"
	default:
		return words + " wait for the pause to end"
	}
}

// webhookWords say what a pass saw of the webhook.
var webhookWords = map[ledger.WebhookHealth]string{
	ledger.WebhookEnabled:  "enabled",
	ledger.WebhookDisabled: "disabled: nothing is delivered",
	ledger.WebhookMissing:  "missing: Gemini has none for the configured address",
	ledger.WebhookNone:     "none is known to the pass: none is configured, or none was created yet",
}

// WebhookWords says what the last pass saw of the webhook.
func (o Overview) WebhookWords() string {
	if wrong := o.LastPass.WrongSecret; wrong != nil {
		return "it refuses each delivery: Gemini signs with " + phrase.Safe(wrong.Shown) + ", which it does not know"
	}
	if o.LastPass.NoWebhook {
		return "none: Gemini has none, and look-ups find every completion"
	}
	return cmp.Or(webhookWords[o.LastPass.Webhook], "not known")
}
