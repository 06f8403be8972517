package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// intents is what the waiting intents say of the search for their operations.
type intents struct {
	any  bool // there is at least one
	list bool // Gemini's list of batches is needed for one of them
	// since is when the oldest was recorded that is searched for; p.start if none was earlier.
	since time.Time
}

// waiting reads the open and abandoned intents, in due order, until one needs the list. Those that
// have waited longest come first, so that the oldest is among those that were read.
func (p *pass) waiting(ctx context.Context) (w intents, err error) {
	w.since = p.start
	for after := (ledger.Cursor{}); ; {
		page, err := p.Ledger.WaitingIntents(ctx, after, pageSize)
		if err != nil {
			return w, err
		}
		w.any = w.any || len(page.Items)+len(page.Broken) > 0
		w.list = w.list || slices.ContainsFunc(page.Broken,
			func(b ledger.Broken) bool { return !errors.Is(b, ledger.ErrForeign) && !errors.Is(b, ledger.ErrNewer) })
		for _, waiting := range page.Items {
			w.list = w.list || p.listFor(waiting.Intent)
			if at := waiting.Intent.AttemptedAt(); waiting.Intent.Searched(p.start) && at.Before(w.since) {
				w.since = at
			}
		}
		if after = page.Next; w.list || after.Path == "" {
			return w, nil
		}
	}
}

// listFor reports whether this pass reads the list for an intent. One that is younger than the
// grace is most likely about to be registered. One that was abandoned is searched for less and less
// often.
func (p *pass) listFor(intent ledger.Intent) bool {
	if !intent.Searched(p.start) {
		return false
	}
	if intent.State == ledger.IntentAbandoned {
		return !intent.DueAt.After(p.start)
	}
	return p.start.Sub(intent.AttemptedAt()) >= p.Ledger.Settings().Grace || intent.Overdue(p.start)
}

// intent handles a due intent that no listed batch matched. It looks up the names that deliveries
// reported, and abandons the intent when its time is over. The error is the context's.
func (p *pass) intent(ctx context.Context, due ledger.DueIntent, s search) error {
	intent := due.Intent
	overdue := intent.Overdue(p.start)
	if !overdue && !p.claimIntent(ctx, due) {
		return nil
	}
	// Each name is looked up that was to be when the intent became due: no pass may have come since.
	for _, name := range intent.ToLookUp(intent.DueAt) {
		if err := p.pace.wait(ctx); err != nil {
			return err
		}
		if p.named(ctx, name, intent.CorrelationID) {
			return nil
		}
	}
	if !overdue {
		return nil
	}
	doubt := doubtOf(intent, s)
	if doubt == nil || p.start.Sub(intent.AttemptedAt()) >= p.Ledger.GiveUpAnyway() {
		p.abandon(ctx, due, doubt)
	}
	return nil
}

// claimIntent reports whether this pass may search for the intent's operation. No other pass does
// meanwhile.
func (p *pass) claimIntent(ctx context.Context, due ledger.DueIntent) bool {
	goesOn, err := p.Ledger.PostponeIntent(ctx, due, p.start)
	switch {
	case errors.Is(err, ledger.ErrConflict):
		return false // another pass has it, or it was bound
	case err != nil:
		p.count.fail(ctx, "claiming an intent for this pass", err)
		return false
	}
	if !goesOn {
		p.Log.WarnContext(ctx, "no longer searches for the operation of an intent", "event", "intent", "outcome",
			"search-ended", "correlation", due.Intent.CorrelationID, "jobKind", due.Intent.JobKind, "createdAt",
			due.Intent.CreatedAt)
	}
	return true
}

// named looks up a name that a delivery reported with a correlation id, and binds the operation if
// Gemini has it with that id or without one. It reports whether it did.
func (p *pass) named(ctx context.Context, name operation.Name, correlation string) bool {
	answer := p.ask(ctx, name)
	if !answer.Exists() {
		return false
	}
	if answer.CorrelationID == "" {
		answer.CorrelationID = correlation
	}
	return answer.CorrelationID == correlation && p.bind(ctx, name, answer)
}

// doubtOf returns why Gemini may have an operation for an intent that no look-up found; nil where
// it certainly has none.
func doubtOf(intent ledger.Intent, s search) error {
	switch {
	case !intent.Listable():
		return nil
	case s.listed[intent.CorrelationID] != "":
		return fmt.Errorf("%s has this correlation id in Gemini's list and could not be bound",
			s.listed[intent.CorrelationID])
	case s.err != nil:
		return fmt.Errorf("the list of batches at Gemini was not read to its end: %w", s.err)
	default:
		return nil
	}
}

// abandon stops the waiting for an intent's operation, with an alert. An operation that appears
// later is still bound. The alert is planned first, so that a pass that dies in between leaves both
// to the next one. doubt is why there may be an operation.
func (p *pass) abandon(ctx context.Context, due ledger.DueIntent, doubt error) {
	intent := due.Intent
	err := p.alert(ctx, operation.Key("intents/"+intent.CorrelationID), ledger.AlertUnbound, intent.AttemptedAt(),
		unbound(intent, doubt))
	if err != nil {
		return // it stays due for the next pass
	}
	switch err := p.Ledger.AbandonIntent(ctx, due, p.start); {
	case errors.Is(err, ledger.ErrConflict): // it was bound, or another pass did it
	case err != nil:
		p.count.fail(ctx, "abandoning an intent", err)
	default:
		p.Log.WarnContext(ctx, "an intent was abandoned", "event", "intent", "outcome", "abandoned",
			"correlation", intent.CorrelationID, "jobKind", intent.JobKind, "createdAt", intent.CreatedAt)
	}
}

// unbound is the alert's text about an intent that is abandoned.
func unbound(intent ledger.Intent, doubt error) string {
	words := "nothing was found that has this correlation id: its submitter may have died before it submitted"
	switch {
	case doubt != nil:
		words = "its job may be running, so do not submit it again before you check: " + doubt.Error()
	case !intent.Listable():
		words = "no event had this correlation id, and Gemini has no list of " + string(intent.Collection) +
			": its submitter may have died before it submitted, or its job ended without an event"
	}
	if len(intent.Names) == 0 {
		return words
	}
	names := make([]string, len(intent.Names))
	for i, kept := range intent.Names {
		names[i] = kept.Name
	}
	return words + "; deliveries named " + strings.Join(names, ", ") + ", which Gemini does not know"
}
