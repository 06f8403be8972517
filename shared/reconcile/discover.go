package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// discover finds batches at Gemini that are unregistered: those whose correlation id has an open
// intent [G6], and all others if the settings say so. Then it handles the intents that are due.
// Videos and interactions cannot be listed: only events bind them, and names that deliveries
// reported.
func (p *pass) discover(ctx context.Context) error {
	waiting, err := p.waiting(ctx)
	if err != nil {
		p.count.fail(ctx, "reading the waiting intents", err)
		return err
	}
	p.listForJobs(ctx)
	var s search
	if p.Adopt || waiting.list {
		s = p.search(ctx, waiting.since)
	}
	if !waiting.any {
		return s.err
	}
	find := behind(p.lookups, ledger.IntentsCollection, p.Ledger.Intents.Due)
	return each(ctx, p.count, newWindow(few), p.start, find, nil,
		func(due ledger.DueIntent) error { return p.intent(ctx, due, s) })
}

// A search is the result of reading Gemini's list of batches.
type search struct {
	// listed are the names of its batches, by correlation id.
	listed map[string]string
	// readable: every entry has a display name or a state, so none hides an id.
	readable bool
	err      error // why it may be incomplete; it is counted
}

// stillCounts is for how long a cancelled batch may count towards the quota of its model's tokens: for the two days
// that were seen, and as long as clocks may differ.
const stillCounts = 48*time.Hour + maxClockSkew

// listForJobs reads Gemini's list while jobs have batches or want some. It counts the unfinished ones, which are
// limited all together there, and finds the twins among those of one part.
func (p *pass) listForJobs(ctx context.Context) {
	running, err := p.Ledger.Jobs.Running(ctx)
	if err != nil {
		p.count.fail(ctx, "reading the batches that run", err)
	}
	p.dropHeld(ctx, running)
	if !running.Active() {
		return
	}
	listed, err := p.listAll(ctx)
	if err != nil && !errors.Is(err, errLongList) { // of a long list its beginning counts
		p.count.fail(ctx, "counting Gemini's unfinished batches", err)
		return
	}
	var counting []ledger.Listed
	if err != nil { // what is behind its beginning may be of any model
		counting = append(counting, ledger.Listed{Doubtful: true})
	}
	parts := map[string][]lookup.Batch{}
	for _, batch := range listed {
		doubtful := !batch.Known() || batch.State == operation.Cancelled && p.start.Sub(batch.UpdateTime) < stillCounts
		if doubtful || !batch.State.Terminal() {
			counting = append(counting, ledger.Listed{
				CorrelationID: batch.CorrelationID, Model: batch.Model, Doubtful: doubtful,
			})
		}
		recent := p.start.Sub(batch.CreateTime) < p.Ledger.Settings().Retention // so that its record is still there
		if operation.Reserved(batch.CorrelationID) && batch.Name.Key != "" && recent {
			parts[batch.CorrelationID] = append(parts[batch.CorrelationID], batch)
		}
	}
	next, err := p.Ledger.Jobs.CountListed(ctx, p.start, counting)
	if err == nil && next != "" {
		_, err = p.Ledger.Jobs.Advance(ctx, next)
	}
	if err != nil {
		p.count.fail(ctx, "counting Gemini's unfinished batches", err)
	}
	for _, batches := range parts {
		if len(batches) == 1 {
			continue
		}
		if err := p.found(ctx, batches); err != nil {
			p.count.fail(ctx, "looking for twins in the ledger", err)
		}
	}
}

// listAll returns Gemini's list as far as a pass reads it. That it goes on behind that is alerted, once a pass.
func (p *pass) listAll(ctx context.Context) ([]lookup.Batch, error) {
	listed, err := p.listing.all(ctx)
	if errors.Is(err, errLongList) {
		p.count.long.Do(func() {
			p.Log.WarnContext(ctx, "Gemini lists more batches than a pass reads: no batch behind those is found",
				"event", "alert", "reason", "long-list", "error", err)
		})
	}
	return listed, err
}

// maxClockSkew is how far Gemini's clock may be behind the store's, so that a batch seems to be
// older than its intent.
const maxClockSkew = time.Hour

// oldest returns when the oldest batch was created that discovery handles. An intent is recorded
// before its batch is created, and is usually searched for as long as this. Where passes could not
// ask Gemini it is longer, and then since is when the oldest intent was recorded.
func (p *pass) oldest(since time.Time) time.Time {
	return operation.Earlier(
		p.start.Add(-p.Ledger.Intents.GiveUpAnyway()-ledger.SearchFor), since.Add(-maxClockSkew))
}

// search lists Gemini's batches and handles those that the ledger needs. since is when the oldest
// intent was recorded. A batch without an id has no intent, so it is adopted in the usual time
// alone.
func (p *pass) search(ctx context.Context, since time.Time) search {
	s := search{listed: map[string]string{}}
	intended, adopted := p.oldest(since), p.oldest(p.start)
	listed, err := p.listAll(ctx)
	if err != nil {
		p.count.fail(ctx, "listing Gemini's batches", err) // the listed ones are handled all the same
	}
	s.readable = true
	for _, batch := range listed {
		if batch.CorrelationID != "" {
			s.listed[batch.CorrelationID] = cmp.Or(string(batch.Name.Key), batch.DisplayName)
		}
		s.readable = s.readable && (batch.DisplayName != "" || batch.Known())
	}
	listed = slices.DeleteFunc(listed, func(l lookup.Batch) bool {
		oldest := intended
		if l.CorrelationID == "" {
			oldest = adopted
		}
		old := !l.CreateTime.IsZero() && l.CreateTime.Before(oldest)
		return old || l.CorrelationID == "" && !p.Adopt || l.Name.Key == ""
	})
	for batches := range slices.Chunk(listed, pageSize) {
		if foundErr := p.found(ctx, batches); foundErr != nil {
			p.count.fail(ctx, "looking for listed batches in the ledger", foundErr)
			err = errors.Join(err, foundErr)
		}
	}
	s.err = err
	return s
}

// found binds, registers or adopts those of the listed batches that need it.
func (p *pass) found(ctx context.Context, listed []lookup.Batch) error {
	asked := make([]ledger.Found, len(listed))
	for i, batch := range listed {
		asked[i] = ledger.Found{Name: batch.Name, CorrelationID: batch.CorrelationID}
	}
	findings, err := p.Ledger.Operations.Discover(ctx, asked)
	if err != nil {
		return fmt.Errorf("discovering %d batches: %w", len(listed), err)
	}
	var wanted []func()
	for i, finding := range findings {
		batch, ofJob := listed[i], operation.Reserved(finding.CorrelationID)
		registered := finding.Standing == ledger.StandingRegistered
		switch {
		case finding.Err != nil:
			p.count.fail(ctx, "reading the record of a listed batch", finding.Err)
		case finding.Waiting && registered: // without its correlation id
			wanted = append(wanted, func() { p.register(ctx, batch, "bound") })
		case finding.Waiting:
			wanted = append(wanted, func() { p.bind(ctx, batch.Name, batch.Answer) })
		case registered:
		case finding.Elsewhere != "" && ofJob: // a twin, which is counted
			wanted = append(wanted, func() { p.ingest(ctx, batch.Event(batch.Name)) })
		case finding.Elsewhere == "" && !ofJob && p.Adopt: // what a job has forgotten is no operator's
			wanted = append(wanted, func() { p.register(ctx, batch, "adopted") })
		}
	}
	return concurrently(ctx, p.count, wanted)
}

// bind ingests Gemini's answer about an operation whose correlation id has an open intent: the same
// commit registers the operation. A known state is not needed: Gemini has the operation. bind
// reports whether that bound the operation, and whether the answer was ingested.
func (p *pass) bind(ctx context.Context, name operation.Name, answer lookup.Answer) (bound, ingested bool) {
	receipt, ingested := p.ingest(ctx, answer.Event(name))
	if ingested && receipt.Bound {
		p.logFound(ctx, name.Key, answer.CorrelationID, "bound")
	}
	return ingested && receipt.Bound, ingested
}

// register registers a batch, and its correlation id binds the open intent. Look-ups do the rest.
func (p *pass) register(ctx context.Context, batch lookup.Batch, outcome string) {
	registered, err := p.registerOrBind(ctx, batch)
	if err != nil {
		p.count.fail(ctx, "registering a batch that was discovered", err)
		return
	}
	p.reportUnpublished(ctx, registered.PublishErr)
	p.reportWithheld(ctx, batch.Name.Key, registered.Withheld)
	if registered.CorrelationErr != nil {
		return // the operation or the id is bound to another
	}
	p.logFound(ctx, batch.Name.Key, batch.CorrelationID, outcome)
	if batch.Known() {
		p.ingest(ctx, batch.Event(batch.Name))
	}
}

// registerOrBind registers a batch. That of a job's part is bound to it: nothing else may register its id.
func (p *pass) registerOrBind(ctx context.Context, batch lookup.Batch) (ledger.Registered, error) {
	if !operation.Reserved(batch.CorrelationID) {
		return p.Ledger.Operations.Register(ctx, ledger.Registration{
			Name: batch.Name, SubmittedAt: batch.CreateTime, By: operation.Reconcile,
			Submission: operation.Submission{CorrelationID: batch.CorrelationID},
		})
	}
	part, j, err := p.Ledger.Jobs.Part(ctx, operation.Key(batch.CorrelationID))
	if err != nil {
		return ledger.Registered{}, err
	}
	return p.Ledger.Jobs.Bind(ctx, part.Part, j.Job, batch.Name)
}

func (p *pass) logFound(ctx context.Context, key operation.Key, correlation, outcome string) {
	p.Log.WarnContext(ctx, "found an unregistered operation", "event", "discovery", "source", operation.Reconcile,
		"outcome", outcome, "operation", key, "correlation", correlation)
}
