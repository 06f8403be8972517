package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// waiting reads the intents that wait for their operation, as far as it takes to say whether
// Gemini's list of batches is to be read for one of them. some: there is one at all.
func (p *pass) waiting(ctx context.Context) (some, list bool, err error) {
	for after := (ledger.Cursor{}); ; {
		page, err := p.Ledger.WaitingIntents(ctx, after, pageSize)
		if err != nil {
			return some, false, err
		}
		some = some || len(page.Items)+len(page.Broken) > 0
		list = list || slices.ContainsFunc(page.Broken,
			func(b ledger.Broken) bool { return !errors.Is(b, ledger.ErrForeign) })
		for _, waiting := range page.Items {
			list = list || p.listFor(waiting.Intent)
		}
		if after = page.Next; list || after.Path == "" {
			return some, list, nil
		}
	}
}

// listFor reports whether this pass is to read the list for an intent. While one is younger than
// the grace, its submitter is most likely about to register; one that was given up is searched for
// ever more rarely.
func (p *pass) listFor(intent ledger.Intent) bool {
	if !intent.Searched(p.start) {
		return false
	}
	if intent.State == ledger.IntentAbandoned {
		return !intent.DueAt.After(p.start)
	}
	return p.start.Sub(intent.AttemptedAt()) >= p.Ledger.Settings().Grace || intent.Overdue(p.start)
}

// intent looks for the operation of an intent that is due, and was not found in the list, by the
// names that deliveries brought. Where its time is over, it is given up. The error is the
// context's.
func (p *pass) intent(ctx context.Context, due ledger.DueIntent, s search) error {
	intent := due.Intent
	overdue := intent.Overdue(p.start)
	if !overdue && !p.claimIntent(ctx, due) {
		return nil
	}
	for _, name := range intent.ToLookUp(p.start) {
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
		p.giveUp(ctx, due, doubt)
	}
	return nil
}

// claimIntent reports whether this pass may look for the intent's operation; no other pass does so
// meanwhile.
func (p *pass) claimIntent(ctx context.Context, due ledger.DueIntent) bool {
	goesOn, err := p.Ledger.PostponeIntent(ctx, due, p.start)
	switch {
	case errors.Is(err, ledger.ErrConflict):
		return false // another pass took it, or it was bound
	case err != nil:
		p.count.fail(ctx, "taking an intent for this pass", err)
		return false
	}
	if !goesOn {
		p.Log.WarnContext(ctx, "no longer searches for the operation of an intent", "event", "intent", "outcome",
			"search-ended",
			"correlation", due.Intent.CorrelationID, "jobKind", due.Intent.JobKind, "createdAt", due.Intent.CreatedAt)
	}
	return true
}

// named asks Gemini about a name that a delivery put beside a correlation id, and binds the
// operation where Gemini has it. It reports whether it did. Gemini's own word for the id is
// stronger.
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

// doubtOf says why nobody can say that Gemini has no operation for an intent; nil where one can.
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

// giveUp stops waiting for the operation of an intent, aloud; one that shows itself all the same is
// bound. It is said before it is done, so that a pass which dies in between leaves it to the next
// one. doubt is why there may be an operation.
func (p *pass) giveUp(ctx context.Context, due ledger.DueIntent, doubt error) {
	intent := due.Intent
	err := p.alert(ctx, operation.Key("intents/"+intent.CorrelationID), ledger.AlertUnbound, intent.AttemptedAt(),
		unbound(intent, doubt))
	if err != nil {
		return // it stays due, and is said by the next pass
	}
	switch err := p.Ledger.AbandonIntent(ctx, due, p.start); {
	case errors.Is(err, ledger.ErrConflict): // it was bound, or another pass did it
	case err != nil:
		p.count.fail(ctx, "giving an intent up", err)
	default:
		p.Log.WarnContext(ctx, "gave an intent up", "event", "intent", "outcome", "abandoned", "correlation",
			intent.CorrelationID,
			"jobKind", intent.JobKind, "createdAt", intent.CreatedAt)
	}
}

// unbound is what the alert says of an intent that is given up.
func unbound(intent ledger.Intent, doubt error) string {
	words := "nothing was found that has this correlation id: its submitter may have died before it submitted"
	switch {
	case doubt != nil:
		words = "its job may be running, so do not submit it again before you have looked: " + doubt.Error()
	case !intent.Listable():
		words = "no event came with this correlation id, and Gemini has no list of " + string(intent.Collection) +
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
