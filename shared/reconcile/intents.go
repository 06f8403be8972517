package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// intents sums up the waiting intents for the search.
type intents struct {
	any  bool // there is at least one
	list bool // Gemini's list of batches is needed for one of them
	// since is when the oldest was recorded that may be in the list; p.start if none was earlier.
	since time.Time
}

// waiting reads the open and abandoned intents, in due order, until one needs the list and all that
// are due were read: this pass ends the search for no other. Where no open intent can be listed, it reads to
// the end. It then passes the index entries of bound intents whose GiveUpAt is still ahead: those of the
// last StuckAfter.
func (p *pass) waiting(ctx context.Context) (w intents, err error) {
	w.since = p.start
	var due time.Time // of the last one
	open := func(ctx context.Context, _ time.Time, after ledger.Cursor, limit int) (ledger.Page[ledger.DueIntent], error) {
		return p.Ledger.Intents.Waiting(ctx, after, limit)
	}
	find := behind(p.lookups, ledger.IntentsCollection, open)
	for after := (ledger.Cursor{}); ; {
		page, err := find(ctx, p.start, after, pageSize)
		if err != nil {
			return w, err
		}
		w.any = w.any || len(page.Items)+len(page.Broken) > 0
		w.list = w.list || slices.ContainsFunc(page.Broken,
			func(b ledger.Broken) bool { return !errors.Is(b, ledger.ErrForeign) && !errors.Is(b, ledger.ErrNewer) })
		for _, waiting := range page.Items {
			due = waiting.Intent.DueAt
			w.list = w.list || p.listFor(waiting.Intent)
			if at := waiting.Intent.CreatedAt; waiting.Intent.Listable() && at.Before(w.since) {
				w.since = at
			}
		}
		if after = page.Next; after.Path == "" || w.list && due.After(p.start) {
			return w, nil
		}
	}
}

// listFor reports whether this pass reads the list for a waiting intent. One that is younger than
// the grace is most likely about to be registered. One that was abandoned is searched for when it
// is due, less and less often.
func (p *pass) listFor(intent ledger.Intent) bool {
	if !intent.Listable() {
		return false
	}
	if intent.State == ledger.IntentAbandoned {
		return !intent.DueAt.After(p.start)
	}
	return p.start.Sub(intent.AttemptedAt()) >= p.Ledger.Settings().Grace || intent.Overdue(p.start) ||
		intent.ToList(p.lookups.Leapt(), p.start)
}

// intent handles a due intent that no listed batch matched. It looks up the names that deliveries
// reported. When its time is over, it abandons the intent, or ends the search for an abandoned one:
// only after Gemini answered that it has no operation, or after twice the time. It stores that
// answer with an attempt that is over, so that its submitter may submit again. The error is the
// context's.
func (p *pass) intent(ctx context.Context, due ledger.DueIntent, s search) error {
	intent := due.Intent
	overdue := intent.Overdue(p.start) && p.Ledger.Passes.Steady(p.lookups.Leapt(), p.start)
	over := intent.State == ledger.IntentAbandoned && intent.SearchOver(p.start)
	toList := intent.ToList(p.lookups.Leapt(), p.start)
	if !overdue && !over && !toList && !p.claimIntent(ctx, due) {
		return nil
	}
	bound, unanswered, err := p.named(ctx, intent)
	if err != nil || bound {
		return err
	}
	doubt := doubtOf(intent, s)
	if doubt == nil {
		doubt = unanswered
	}
	if doubt == nil && s.readable {
		due = due.Unlisted(p.lookups.Leapt(), p.start)
	}
	switch {
	case overdue:
		if doubt == nil || p.start.Sub(intent.AttemptedAt()) >= p.Ledger.Intents.GiveUpAnyway() {
			p.abandon(ctx, due, unbound(intent, doubt))
		}
	case over:
		if doubt == nil || intent.SearchOver(intent.DueAt.Add(-ledger.SearchFor)) {
			p.claimIntent(ctx, due) // this ends the search
			break
		}
		if err := p.Ledger.Intents.ProlongSearch(ctx, due, p.start); err != nil {
			p.count.fail(ctx, "prolonging the search for an intent's operation", err)
		}
	case toList:
		p.claimIntent(ctx, due)
	}
	return nil
}

// claimIntent reports whether this pass may search for the intent's operation. No other pass does
// meanwhile.
func (p *pass) claimIntent(ctx context.Context, due ledger.DueIntent) bool {
	goesOn, err := p.Ledger.Intents.Postpone(ctx, due, p.start)
	if err != nil { // in a conflict another pass has it, or it was bound
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

// named looks up the names that deliveries reported for an intent, and binds the first operation
// that Gemini has with the intent's id or without one. unanswered is why one of the others may be
// it. The error is the context's.
func (p *pass) named(ctx context.Context, intent ledger.Intent) (bound bool, unanswered, err error) {
	for _, kept := range intent.Names {
		if err := p.pace.wait(ctx); err != nil {
			return false, nil, err
		}
		name := operation.Name{Key: kept.Key, Resource: kept.Name}
		answer := p.ask(ctx, name)
		if !answer.Exists() {
			if !slices.Contains([]string{lookup.NotFound, lookup.InvalidName, lookup.Unsupported}, answer.Reason) {
				unanswered = fmt.Errorf("%s, which a delivery named, could not be looked up: %w", kept.Name, answer.Err)
			}
			continue
		}
		if answer.CorrelationID == "" {
			answer.CorrelationID = intent.CorrelationID
		}
		if answer.CorrelationID != intent.CorrelationID {
			continue
		}
		bound, ingested := p.bind(ctx, name, answer)
		if bound {
			return true, nil, nil
		}
		if !ingested {
			unanswered = fmt.Errorf("%s, which a delivery named, could not be bound", kept.Name)
		}
	}
	return false, unanswered, nil
}

// doubtOf returns why Gemini may have an operation for an intent that no look-up found; nil where
// it certainly has none.
func doubtOf(intent ledger.Intent, s search) error {
	switch {
	case !intent.Listable():
		return nil
	case s.listed[intent.CorrelationID] != "": // also one that is too old, or whose name is none
		return fmt.Errorf("%s has this correlation id in Gemini's list and could not be bound",
			s.listed[intent.CorrelationID])
	case s.err != nil:
		return fmt.Errorf("the list of batches at Gemini was not read to its end: %w", s.err)
	default:
		return nil
	}
}

// abandon stops the waiting for an intent's operation, with an alert in the same commit. An operation
// that appears later is still bound. detail is the alert's text.
func (p *pass) abandon(ctx context.Context, due ledger.DueIntent, detail string) {
	intent := due.Intent
	alerted, err := p.Ledger.Intents.Abandon(ctx, due, p.start, detail)
	if err != nil { // in a conflict it was bound, or another pass did it; else it stays due for the next pass
		p.count.fail(ctx, "abandoning an intent", err)
		return
	}
	p.Log.WarnContext(ctx, detail, "event", "alert", "reason", "unbound",
		"operation", ledger.IntentSubject(intent.CorrelationID))
	p.reportUnpublished(ctx, alerted.PublishErr)
	p.Log.WarnContext(ctx, "an intent was abandoned", "event", "intent", "outcome", "abandoned",
		"correlation", intent.CorrelationID, "jobKind", intent.JobKind, "createdAt", intent.CreatedAt)
}

// unbound is the alert's text about an intent that is abandoned. doubt is why there may be an
// operation.
func unbound(intent ledger.Intent, doubt error) string {
	words := "nothing was found that has this correlation id: its submitter may have died before it submitted"
	switch {
	case doubt != nil:
		words = "its job may be running, so do not submit it again before you check: " + doubt.Error()
	case !intent.Listable():
		words = "no event bound an operation to it, and Gemini has no list of " + string(intent.Collection) +
			": its submitter may have died before it submitted, or its job ended without an event"
	}
	if len(intent.Names) == 0 {
		return words
	}
	names := make([]string, len(intent.Names))
	for i, kept := range intent.Names {
		names[i] = kept.Name
	}
	return words + "; deliveries named " + strings.Join(names, ", ") + ", and nothing was bound: look at each"
}
