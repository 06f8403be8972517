// Package actions is what an operator can do to one operation or effect, as the terminal and the
// console do it: both record the same, and say the same of what became of it.
package actions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// Actions are done with these. A process that may change nothing has none.
type Actions struct {
	Ledger *ledger.Ledger
	// One looks an operation up at Gemini and ingests the answer, as [reconcile.Reconciler] does; nil:
	// there is no API key.
	One func(context.Context, operation.Key) (lookup.Answer, ledger.Receipt, error)
	// AskToCancel asks Gemini to cancel an operation; nil: there is no API key.
	AskToCancel func(context.Context, operation.Name) error
	// Storage opens the job storage of that name, as a job has it; nil: jobs are not redriven here.
	Storage func(name string) (storage.Storage, error)
	// Send hands a message to the workers: to the topic, or to those inside this process.
	Send func(context.Context, ledger.Message) error
	// Elsewhere: the workers are not in this process.
	Elsewhere bool
	// Paused reports whether the workers in this process perform no effects now; nil: they always do, or
	// are not in this process.
	Paused func(context.Context) (bool, error)
	// Overrides: the workers in this process perform effects even while another process has paused them.
	Overrides bool
	// EndPause ends the pause of effects in this process, or in serve, and reports whether there was one; nil: there
	// can be none.
	EndPause func(context.Context, ledger.Decision) (ended bool, err error)
	// LookEvery is how often the outcomes of effects are looked for that were asked for; 0: every 2 s.
	LookEvery time.Duration
	// StoreFlag ends a command that is suggested, as [phrase.StoreFlag] makes it.
	StoreFlag string
	// By is the operator whom a page proposes to record.
	By string
}

// NewNonce names a rerun, or another request of an operator: no two are the same.
func NewNonce(now time.Time) string {
	return now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:8])
}

// A GoneError: Gemini answered that it does not know the operation. Its text says so, and what follows.
type GoneError struct {
	Record operation.Record // as it is after the answer
	error
}

func (e GoneError) Unwrap() error { return e.error }

// LookUp asks Gemini about an operation now, and ingests the answer. An inconclusive look-up is an
// error: a [GoneError] where Gemini does not know the operation. Of a job it takes the next steps: Gemini knows
// no job.
func (a *Actions) LookUp(ctx context.Context, key operation.Key) (ledger.Receipt, string, error) {
	if key.Collection() == operation.Jobs {
		return a.advance(ctx, key)
	}
	answer, receipt, err := a.One(ctx, key)
	switch {
	case err != nil:
		return receipt, "", err
	case !answer.Known():
		return receipt, "", a.inconclusive(ctx, key, answer)
	}
	if receipt.State.Terminal() && answer.State.Terminal() && answer.State != receipt.State {
		return receipt, fmt.Sprintf("%s is %s at Gemini, and the ledger says %s, which stands: it ended in two ways",
			phrase.Safe(string(key)), answer.State, receipt.State), nil
	}
	return receipt, fmt.Sprintf("%s is %s at Gemini: %s; the ledger says %s", phrase.Safe(string(key)), answer.State,
		decision(receipt), receipt.State), nil
}

// inconclusive says why a look-up was inconclusive, since when, and when the next one is.
func (a *Actions) inconclusive(ctx context.Context, key operation.Key, answer lookup.Answer) error {
	err := fmt.Errorf("looking up %s at Gemini (%s): %w", key, answer.Reason, answer.Err)
	rec, readErr := a.Ledger.Operations.Read(ctx, key)
	if readErr != nil {
		return fmt.Errorf("%w; %w", err, readErr)
	}
	next := "no pass looks it up again"
	switch {
	case rec.Settled():
		next = string(rec.State) + " stands"
	case !rec.DueAt.IsZero():
		next = "it is looked up again at " + phrase.LocalTime(rec.DueAt)
	}
	if rec.HasCondition() {
		next = phrase.Condition(rec) + "; " + next
	}
	if answer.Reason != lookup.NotFound {
		return fmt.Errorf("%w; %s", err, next)
	}
	if rec.Settled() {
		return GoneError{rec, fmt.Errorf("%w; Gemini does not know it any more, and nothing more can be learned from it; %s",
			err, next)}
	}
	return GoneError{rec, fmt.Errorf("%w; %s", err, next)}
}

// A Decision is the one that stands, and whether it is the one that was asked for.
type Decision struct {
	operation.Decided
	Recorded bool
}

// JSON adds the decision to fields under its verb, such as abandoned, and whether it is the one that was
// asked for.
func (d Decision) JSON(verb string, fields map[string]any) map[string]any {
	fields[verb], fields["recorded"] = d.Decided, d.Recorded
	return fields
}

// Abandon records that an operation is no longer waited for. It says which decision stands, which may
// be an earlier one.
func (a *Actions) Abandon(ctx context.Context, key operation.Key, d ledger.Decision) (Decision, string, error) {
	return a.decide(ctx, d, string(key), "abandoned", func() (operation.Decided, error) {
		return a.Ledger.Operations.Abandon(ctx, key, d)
	})
}

// Cancel records who has Gemini asked to cancel an operation, and why, and asks Gemini. It says which
// request stands, which may be an earlier one. Gemini is asked each time. Of a job the workers ask it, about
// each of its batches.
func (a *Actions) Cancel(ctx context.Context, key operation.Key, d ledger.Decision) (Decision, string, error) {
	if key.Collection() == operation.Jobs {
		return a.cancelJob(ctx, key, d)
	}
	rec, err := a.Ledger.Operations.Read(ctx, key)
	if err != nil {
		return Decision{}, "", err
	}
	if !cancel.Supports(key) {
		return Decision{}, "", fmt.Errorf("cancelling %s: %w; opledger abandon %s%s stops waiting for it", key,
			cancel.ErrUnsupported, phrase.ShellWord(string(key)), a.StoreFlag)
	}
	stands, words, err := a.decide(ctx, d, "the cancellation of "+string(key), "requested",
		func() (operation.Decided, error) { return a.Ledger.Operations.RequestCancel(ctx, key, d) })
	if err != nil {
		return Decision{}, "", err
	}
	what := phrase.Safe(string(key))
	if err := a.AskToCancel(ctx, operation.Name{Key: key, Resource: rec.Name}); err != nil {
		next := "ask again, or look it up"
		if answer, ok := errors.AsType[*api.Error](err); ok && answer.Refused() {
			next = "Gemini refuses it: look it up"
		}
		return Decision{}, "", fmt.Errorf("asking Gemini to cancel %s: %w; the request is recorded: %s", what, err, next)
	}
	words += fmt.Sprintf("; Gemini was asked, and %s is %s until Gemini says how it ended", what, rec.State)
	if rec.DueAt.IsZero() { // it was abandoned, or is not registered
		words += "; no pass looks it up: opledger reconcile " + phrase.ShellWord(string(key)) + a.StoreFlag + " does"
	}
	return stands, words, nil
}

// AbandonIntent records that the operation of an intent is no longer waited for. It says which decision
// stands, which may be an earlier one.
func (a *Actions) AbandonIntent(ctx context.Context, id string, d ledger.Decision) (Decision, string, error) {
	return a.decide(ctx, d, "intent "+id, "abandoned", func() (operation.Decided, error) {
		return a.Ledger.Intents.AbandonBy(ctx, id, d)
	})
}

// ForgetIntent deletes an intent that no operation has, as it was read.
func (a *Actions) ForgetIntent(ctx context.Context, intent ledger.Intent) (string, error) {
	if err := a.Ledger.Intents.Forget(ctx, intent); err != nil {
		return "", err
	}
	return "the intent " + phrase.Safe(intent.CorrelationID) + " is deleted", nil
}

// Waive records that a dead effect needs nothing more. It says which decision stands, which may be an
// earlier one.
func (a *Actions) Waive(
	ctx context.Context, key operation.Key, effect string, d ledger.Decision,
) (Decision, string, error) {
	return a.decide(ctx, d, "effect "+effect+" of "+string(key), "waived", func() (operation.Decided, error) {
		return a.Ledger.Effects.Waive(ctx, key, effect, d)
	})
}

// decide records a decision, and says what was done with what, or which earlier decision stands.
func (a *Actions) decide(
	ctx context.Context, d ledger.Decision, what, done string, record func() (operation.Decided, error),
) (stands Decision, words string, err error) {
	began, err := a.Ledger.Now(ctx)
	if err != nil {
		return Decision{}, "", err
	}
	stands.Recorded = true
	if stands.Decided, err = record(); err != nil {
		return Decision{}, "", err
	}
	already, yours := "", ""
	if stands.At.Before(operation.Instant(began)) && (stands.By != d.By || stands.Why != d.Why) {
		stands.Recorded, already, yours = false, "already ", "; yours was not recorded"
	}
	return stands, fmt.Sprintf("%s %s%s by %s at %s: %s%s", phrase.Safe(what), already, done, phrase.Safe(stands.By),
		phrase.LocalTime(stands.At), phrase.Safe(stands.Why), yours), nil
}

// Resolve records that an operator has resolved the conflict of an operation, as it is in seen [M5], or
// that it is rightly not registered. It says which of them, and which decision stands, which may be an
// earlier one.
func (a *Actions) Resolve(ctx context.Context, seen operation.Record, d ledger.Decision) (Decision, string, error) {
	if !seen.Registered && !seen.Conflicted() {
		return a.ResolveUnregistered(ctx, seen.Key, d)
	}
	what := fmt.Sprintf("the conflict of %s, %s and %s,", seen.Key, seen.State, seen.ConflictState)
	return a.decide(ctx, d, what, "resolved", func() (operation.Decided, error) {
		stands, err := a.Ledger.Operations.ResolveConflict(ctx, seen, d)
		return stands.Decided, err
	})
}

// ResolveUnregistered records that an operation is rightly not registered [W5]. It says which decision
// stands, which may be an earlier one.
func (a *Actions) ResolveUnregistered(
	ctx context.Context, key operation.Key, d ledger.Decision,
) (Decision, string, error) {
	return a.decide(ctx, d, string(key)+", which is not registered,", "resolved",
		func() (operation.Decided, error) {
			return a.Ledger.Operations.ResolveUnregistered(ctx, key, d)
		})
}

// ResolveLeftOut records that an effect is left out on purpose, and that what ended without it stays so [L7]. It says
// which decision stands, which may be an earlier one.
func (a *Actions) ResolveLeftOut(ctx context.Context, effect string, d ledger.Decision) (Decision, string, error) {
	return a.decide(ctx, d, "that the effect "+effect+" is left out", "resolved", func() (operation.Decided, error) {
		return a.Ledger.Effects.ResolveLeftOut(ctx, effect, d)
	})
}

// ResolveQuarantined records that a quarantined delivery needs nothing more [W6]. It says which decision
// stands, which may be an earlier one.
func (a *Actions) ResolveQuarantined(
	ctx context.Context, id string, d ledger.Decision,
) (Decision, string, error) {
	return a.decide(ctx, d, "the delivery "+id, "resolved", func() (operation.Decided, error) {
		return a.Ledger.Quarantine.Resolve(ctx, id, d)
	})
}

// Replay asks the workers to run an effect again, or with m.Rerun once more as a run of its own [G5].
// now: a worker in this process runs it at once, and does not only accept it.
func (a *Actions) Replay(ctx context.Context, m ledger.Message) (words string, now bool, err error) {
	if err := m.Validate(); err != nil {
		return "", false, err
	}
	paused := false
	if a.Paused != nil {
		if paused, err = a.Paused(ctx); err != nil {
			return "", false, fmt.Errorf("%w; nothing was done", err)
		}
	}
	if err := a.Send(ctx, m); err != nil {
		return "", false, fmt.Errorf("publishing the message: %w; nothing was done", err)
	}
	what := fmt.Sprintf("effect %s of %s", phrase.Safe(m.Effect), phrase.Safe(string(m.Operation)))
	switch {
	case paused:
		return what + " is accepted: it runs when the pause by OPLEDGER_EFFECTS_PAUSED ends", false, nil
	case a.Elsewhere:
		return "a message for " + what + " was published; a worker runs it", false, nil
	default:
		return what + " was started by this process", true, nil
	}
}

// Retry ingests a quarantined delivery that this revision can read, under the delivery's own id. Its
// signature was verified before it was stored.
func (a *Actions) Retry(ctx context.Context, id string) (ledger.Receipt, string, error) {
	_, body, err := a.Ledger.Quarantine.Read(ctx, id)
	if err != nil {
		return ledger.Receipt{}, "", err
	}
	event, err := gemini.DecodeEvent(id, body)
	if err != nil {
		return ledger.Receipt{}, "", fmt.Errorf("this revision cannot read it either: %w", err)
	}
	receipt, err := a.Ledger.Operations.Ingest(ctx, event)
	if err != nil {
		return receipt, "", err
	}
	return receipt, fmt.Sprintf("%s: %s; %s is %s", phrase.Safe(id), decision(receipt), phrase.Safe(string(receipt.Key)),
		phrase.Safe(string(receipt.State))), a.Ledger.Quarantine.MarkRetried(ctx, id, receipt.Outcome)
}

// decision is what became of an event, with the reason.
func decision(r ledger.Receipt) string {
	words := string(r.Outcome)
	if r.Reason != "" {
		words += fmt.Sprintf(" (%s)", r.Reason)
	}
	if r.Twin {
		words += "; " + ledger.TwinMessage
	}
	return words
}
