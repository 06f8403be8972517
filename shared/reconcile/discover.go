package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// discoveryWindow is how far back discovery looks: a batch ends within 48 hours, and a submitter has died within them.
const discoveryWindow = 72 * time.Hour

// discover finds batches that Gemini has and nobody registered: those whose correlation id has an open intent [G6], and, where
// the settings say so, all others. Then the intents whose time is over are given up. Videos and interactions cannot be listed:
// only their events bind them.
func (p *pass) discover(ctx context.Context) error {
	open, err := p.Ledger.OpenIntents(ctx, ledger.Cursor{}, pageSize)
	if err != nil {
		p.count.fail(ctx, "reading the open intents", err)
		return err
	}
	var searchErr error
	if p.Adopt || p.listable(open) {
		searchErr = p.search(ctx)
	}
	if len(open.Items)+len(open.Broken) == 0 {
		return searchErr
	}
	return each(ctx, p.count, p.start, p.Ledger.DueIntents, nil, func(due ledger.DueIntent) error {
		if searchErr == nil || !maybeListed(due.Intent) { // else nobody can say that it matches nothing
			p.giveUp(ctx, due)
		}
		return nil
	})
}

// maybeListed reports whether Gemini's list may have what the intent waits for.
func maybeListed(intent ledger.Intent) bool {
	return intent.Collection == "" || intent.Collection == operation.Batches
}

// listable reports whether Gemini's list may have what one of the open intents waits for. While an intent is younger than the
// grace, its submitter is most likely about to register.
func (p *pass) listable(open ledger.Page[ledger.DueIntent]) bool {
	unreadable := func(b ledger.Broken) bool { return !errors.Is(b, ledger.ErrForeign) }
	return slices.ContainsFunc(open.Broken, unreadable) || open.Next.Path != "" || slices.ContainsFunc(open.Items, func(due ledger.DueIntent) bool {
		return maybeListed(due.Intent) && p.start.Sub(due.Intent.AttemptedAt()) >= p.Ledger.Settings().Grace
	})
}

// search takes in what Gemini lists. The error, which is counted, says that something may not have been found.
func (p *pass) search(ctx context.Context) error {
	listed, err := p.listing.all(ctx)
	if err != nil {
		p.count.fail(ctx, "listing Gemini's batches", err) // what was listed is looked at all the same
	}
	listed = slices.DeleteFunc(listed, func(l lookup.Batch) bool {
		old := !l.CreateTime.IsZero() && p.start.Sub(l.CreateTime) > discoveryWindow
		return old || l.CorrelationID == "" && !p.Adopt
	})
	for batches := range slices.Chunk(listed, pageSize) {
		if foundErr := p.found(ctx, batches); foundErr != nil {
			p.count.fail(ctx, "looking for listed batches in the ledger", foundErr)
			err = errors.Join(err, foundErr)
		}
	}
	return err
}

// found takes in those of the listed batches that are to be.
func (p *pass) found(ctx context.Context, listed []lookup.Batch) error {
	asked := make([]ledger.Found, len(listed))
	for i, batch := range listed {
		asked[i] = ledger.Found{Name: batch.Name, CorrelationID: batch.CorrelationID}
	}
	findings, err := p.Ledger.Discover(ctx, asked)
	if err != nil {
		return fmt.Errorf("discovering %d batches: %w", len(listed), err)
	}
	type discovered struct {
		batch   lookup.Batch
		finding ledger.Finding
	}
	var wanted []discovered
	for i, finding := range findings {
		adopt := p.Adopt && finding.Standing != ledger.StandingRegistered && finding.Elsewhere == ""
		switch {
		case finding.Err != nil:
			p.count.fail(ctx, "reading what the ledger has of a listed batch", finding.Err)
		case finding.Waiting, adopt:
			wanted = append(wanted, discovered{batch: listed[i], finding: finding})
		}
	}
	return atOnce(ctx, p.count, wanted, func(d discovered) error {
		switch {
		case !d.finding.Waiting:
			p.register(ctx, d.batch, "adopted")
		case d.finding.Standing == ledger.StandingRegistered: // by somebody who did not know the id
			p.register(ctx, d.batch, "bound")
		default:
			p.bind(ctx, d.batch)
		}
		return nil
	})
}

// bind ingests what the list says of a batch whose correlation id has an intent that waits: the same commit registers it.
func (p *pass) bind(ctx context.Context, batch lookup.Batch) {
	if !batch.Known() {
		return // the next pass may hear more
	}
	if receipt, ok := p.ingest(ctx, batch.Event(batch.Name)); ok && receipt.Bound {
		p.tell(ctx, batch, "bound")
	}
}

// register registers a batch, and with its correlation id binds the intent that waits under it. The look-ups do the rest.
func (p *pass) register(ctx context.Context, batch lookup.Batch, outcome string) {
	registered, err := p.Ledger.Register(ctx, ledger.Registration{
		Name: batch.Name, SubmittedAt: batch.CreateTime, CorrelationID: batch.CorrelationID, By: operation.Reconcile,
	})
	if err != nil {
		p.count.fail(ctx, "registering a batch that was discovered", err)
		return
	}
	p.unpublished(ctx, registered.PublishErr)
	p.withheld(ctx, batch.Name.Key, registered.Withheld)
	if registered.CorrelationErr != nil {
		return // one of the two belongs to another meanwhile, or always did
	}
	p.tell(ctx, batch, outcome)
	if batch.Known() {
		p.ingest(ctx, batch.Event(batch.Name))
	}
}

func (p *pass) tell(ctx context.Context, batch lookup.Batch, outcome string) {
	p.Log.WarnContext(ctx, "found a batch that nobody had registered", "event", "discovery", "outcome", outcome,
		"operation", batch.Name.Key, "correlation", batch.CorrelationID)
}

// giveUp stops waiting for the operation of an intent, aloud; one that shows itself all the same is bound. It is said before it
// is done, so that a pass which dies in between leaves it to the next one.
func (p *pass) giveUp(ctx context.Context, due ledger.DueIntent) {
	intent := due.Intent
	p.alert(ctx, operation.Key("intents/"+intent.CorrelationID), ledger.AlertUnbound, intent.AttemptedAt(),
		"nothing was found that has this correlation id: its submitter may have died before it submitted")
	switch err := p.Ledger.AbandonIntent(ctx, due, p.start); {
	case errors.Is(err, ledger.ErrConflict): // it was bound, or another pass did it
	case err != nil:
		p.count.fail(ctx, "giving an intent up", err)
	default:
		p.Log.WarnContext(ctx, "gave an intent up", "event", "intent", "outcome", "abandoned", "correlation", intent.CorrelationID,
			"jobKind", intent.JobKind, "createdAt", intent.CreatedAt)
	}
}
