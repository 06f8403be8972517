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

// discover finds batches that Gemini has and nobody registered: those whose correlation id an
// intent waits under [G6], and, where the settings say so, all others. Then it looks at the intents
// that are due. Videos and interactions cannot be listed: only their events bind them, and names
// that deliveries brought.
func (p *pass) discover(ctx context.Context) error {
	waiting, list, err := p.waiting(ctx)
	if err != nil {
		p.count.fail(ctx, "reading the waiting intents", err)
		return err
	}
	var s search
	if p.Adopt || list {
		s = p.search(ctx)
	}
	if !waiting {
		return s.err
	}
	return each(ctx, p.count, p.start, p.Ledger.DueIntents, nil,
		func(due ledger.DueIntent) error { return p.intent(ctx, due, s) })
}

// A search is what came of reading Gemini's list of batches.
type search struct {
	// listed are the batches that it has, by their correlation ids.
	listed map[string]operation.Key
	err    error // why something may not have been found; it is counted
}

// window is how far back discovery looks: an intent is recorded before its batch is created, and
// searched for so long.
func (p *pass) window() time.Duration { return p.Ledger.GiveUpAnyway() + ledger.SearchFor }

// search takes in what Gemini lists.
func (p *pass) search(ctx context.Context) search {
	s := search{listed: map[string]operation.Key{}}
	listed, err := p.listing.all(ctx)
	if err != nil {
		p.count.fail(ctx, "listing Gemini's batches", err) // what was listed is looked at all the same
	}
	listed = slices.DeleteFunc(listed, func(l lookup.Batch) bool {
		old := !l.CreateTime.IsZero() && p.start.Sub(l.CreateTime) > p.window()
		return old || l.CorrelationID == "" && !p.Adopt
	})
	for _, batch := range listed {
		if batch.CorrelationID != "" {
			s.listed[batch.CorrelationID] = batch.Name.Key
		}
	}
	for batches := range slices.Chunk(listed, pageSize) {
		if foundErr := p.found(ctx, batches); foundErr != nil {
			p.count.fail(ctx, "looking for listed batches in the ledger", foundErr)
			err = errors.Join(err, foundErr)
		}
	}
	s.err = err
	return s
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
			p.bind(ctx, d.batch.Name, d.batch.Answer)
		}
		return nil
	})
}

// bind ingests what Gemini says of an operation whose correlation id has an intent that waits: the
// same commit registers it. That needs no state: also one that is not known is of an operation that
// Gemini has. It reports whether the operation is bound.
func (p *pass) bind(ctx context.Context, name operation.Name, answer lookup.Answer) bool {
	receipt, ok := p.ingest(ctx, answer.Event(name))
	if ok && receipt.Bound {
		p.tell(ctx, name.Key, answer.CorrelationID, "bound")
	}
	return ok && receipt.Bound
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
	p.tell(ctx, batch.Name.Key, batch.CorrelationID, outcome)
	if batch.Known() {
		p.ingest(ctx, batch.Event(batch.Name))
	}
}

func (p *pass) tell(ctx context.Context, key operation.Key, correlation, outcome string) {
	p.Log.WarnContext(ctx, "found an operation that nobody had registered", "event", "discovery", "source",
		operation.Reconcile,
		"outcome", outcome, "operation", key, "correlation", correlation)
}
