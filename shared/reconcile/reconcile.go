// Package reconcile catches what webhook deliveries missed. It publishes unfinished effects again,
// looks up pending operations at Gemini, and finds operations whose submitter died before it
// registered them.
//
// One pass has these steps. Each has a share of the time, so that none starves another:
//
//  1. sweep: due effects are published again, whatever the state of their operation [R5];
//  2. the webhook's state is checked [R4], and whether it knows the secret that Gemini signs with [W1]; without its
//     address, whether it knows that of any webhook that Gemini has. Only where it delivers, look-ups become rarer with
//     age;
//  3. look-ups: Gemini's state of due pending operations is read, and ingested like a delivery
//     [R2]. Batches are found in Gemini's list of batches where that takes fewer requests, or where a
//     single look-up fails;
//  4. discovery: a listed batch whose correlation id has an open intent is bound to it [G6]. Other
//     unregistered batches are adopted if the settings say so. Names that deliveries reported for an
//     intent are looked up. While jobs have batches, those that Gemini has unfinished are counted;
//  5. alerts: an intent without an operation is abandoned with an alert, and what has been due for too
//     long is reported [R4, R8], as is what a newer revision wrote [L6].
//
// A pass may be cut off anywhere, overlap another, or meet an unreadable record. Each item's due
// time is moved on, in a commit of its own, before the item is worked on. So an overlapping pass
// leaves it alone. What is moved for longer than an interval is marked before, one write for each
// page, so that a pass that dies delays it by one interval, too [R6]. No operation is ever closed
// without a terminal state from Gemini [R4].
//
// At its end a pass stores when it was, what it did, what it knows of the webhook and of a pause, and where
// the next one begins to read [L4]: one write, by which an operator sees that passes run.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// DefaultBudget is the default time of a pass. It is shorter than the function's time limit and
// than the interval between passes.
const DefaultBudget = 4 * time.Minute

// Options are what a Reconciler works with. Ledger and Log are required, and Gemini for Pass and
// One.
type Options struct {
	Ledger *ledger.Ledger
	Gemini *lookup.Client
	// Adopt registers the unregistered batches that discovery finds.
	Adopt bool
	// Endpoint is checked in every pass; nil: none is.
	Endpoint *Endpoint
	// Dynamic: deliveries come by dynamic webhooks, which cannot be checked. Without them and without
	// an enabled Endpoint every completion waits for a look-up, and look-ups do not become rarer with
	// age.
	Dynamic bool
	// Unsigned: this process has the webhook, and no secret that it verifies with, so that none can be the wrong one.
	Unsigned bool
	// Tokens: the webhook of this process accepts tokens, too. Webhooks that Gemini does not list deliver with those.
	Tokens bool
	// Effects says whether effects are paused, for the report of the pass; empty, and nil: it cannot know.
	Effects func() ledger.Pause
	// LeaveEffects: no worker receives what this process publishes, so that due effects stay as they are
	// for the sweep of another one.
	LeaveEffects bool
	// Budget is how long a pass may take; 0: DefaultBudget.
	Budget time.Duration
	Log    *slog.Logger
}

// A Reconciler makes passes. It holds no state between them.
type Reconciler struct{ Options }

// New returns a Reconciler.
func New(o Options) *Reconciler {
	o.Budget = cmp.Or(o.Budget, DefaultBudget)
	return &Reconciler{Options: o}
}

// A pass is one call of Pass.
type pass struct {
	Options
	start   time.Time // by the store's clock
	count   *counter
	pace    *pacer
	listing *listing
	lookups *ledger.Lookups // of Pass alone
	last    ledger.Pass     // what the steps have found out, for its report
	// delivered: Gemini delivers events, as far as can be seen.
	delivered bool
}

// The parts of the time that is left to a pass which its steps may take.
const (
	sweepShare     = 0.25
	endpointShare  = 0.1
	lookShare      = 0.75
	discoveryShare = 0.7
)

// Pass makes one pass. The error means that nothing at all could be read. Any other error is logged
// and counted in Errors, and its item is due again at the next pass.
func (r *Reconciler) Pass(ctx context.Context) (Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Budget)
	defer cancel()
	began := time.Now()
	lookups, err := r.Ledger.Passes.Begin(ctx, r.Budget)
	if err != nil {
		return Summary{}, err
	}
	p := r.pass(lookups.Start())
	p.lookups = lookups
	err = p.steps(ctx)
	p.report(ctx, time.Since(began), err)
	return p.count.Summary, err
}

// steps makes the steps of a pass. The error means that nothing could be read.
func (p *pass) steps(ctx context.Context) error {
	p.moveUp(ctx)
	sweepErr := within(ctx, sweepShare, p.sweep)
	_ = within(ctx, endpointShare, p.checkEndpoint) // its errors are counted
	lookErr := within(ctx, lookShare, p.lookUp)
	if err := p.lookups.End(ctx); err != nil {
		p.count.fail(ctx, "ending the look-ups", err)
	}
	if sweepErr != nil && lookErr != nil {
		return errors.Join(sweepErr, lookErr)
	}
	_ = within(ctx, discoveryShare, p.discover) // its errors are counted
	p.logUnannounced(ctx)
	p.checkBacklog(ctx)
	p.count.alertNewer(ctx)
	return nil
}

// moveUp makes due the documents whose due time is too far away, because the store's clock leapt
// forward and back. It reads nothing where that clock never leapt. Its errors are counted.
func (p *pass) moveUp(ctx context.Context) {
	if p.lookups.Leapt().IsZero() {
		return
	}
	n, err := p.Ledger.Passes.RepairDueTimes(ctx, p.start)
	if err != nil {
		p.count.fail(ctx, "moving up due times after a leap of the clock", err)
	}
	if n > 0 {
		p.Log.WarnContext(ctx, "the clock has leapt back: documents that it had postponed are due now", "event", "reconcile",
			"documents", n)
	}
}

// Sweep makes only the first step of a pass, which needs no Gemini: it publishes due effects again
// [R5]. Its error is as Pass's.
func (r *Reconciler) Sweep(ctx context.Context) (Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Budget)
	defer cancel()
	start, err := r.Ledger.Now(ctx)
	if err != nil {
		return Summary{}, err
	}
	p := r.pass(start)
	err = p.sweep(ctx)
	p.count.alertNewer(ctx)
	return p.count.Summary, err
}

func (r *Reconciler) pass(start time.Time) *pass {
	p := &pass{Options: r.Options, start: start, count: &counter{log: r.Log}, pace: newPacer()}
	p.listing, p.delivered, p.last.Webhook = newListing(r.Gemini, p.pace), r.Dynamic, ledger.WebhookNone
	if r.Dynamic || r.Endpoint != nil && r.Endpoint.URL != "" {
		p.last.Webhook = ledger.WebhookUnknown
	}
	if r.Unsigned {
		p.last.WrongSecret = &ledger.WrongSecret{}
	}
	return p
}

// within runs a step with a part of the time that is left to ctx.
func within(ctx context.Context, part float64, step func(context.Context) error) error {
	deadline, _ := ctx.Deadline() // Pass sets one, and the caller's may be sooner
	ctx, cancel := context.WithTimeout(ctx, time.Duration(part*float64(time.Until(deadline))))
	defer cancel()
	return step(ctx)
}

// One looks up one operation now, whether or not it is due, and ingests the answer as a pass does.
// The error is ledger.ErrNotFound where the ledger does not have it.
func (r *Reconciler) One(ctx context.Context, key operation.Key) (lookup.Answer, ledger.Receipt, error) {
	rec, err := r.Ledger.Operations.Read(ctx, key)
	if err != nil {
		return lookup.Answer{}, ledger.Receipt{}, err
	}
	p := r.pass(time.Time{})
	name := operation.Name{Key: key, Resource: rec.Name}
	answer := p.ask(ctx, name)
	var receipt ledger.Receipt
	if answer.Known() {
		if receipt, err = r.Ledger.Operations.Ingest(ctx, answer.Event(name)); err != nil {
			return answer, receipt, err
		}
		p.reportTwin(ctx, receipt)
	}
	if answer.Known() && !rec.HasCondition() {
		return answer, receipt, nil
	}
	noted, err := r.Ledger.Operations.RecordCondition(ctx, key, ledger.Condition(answer.Reason))
	if err == nil {
		p.reportMissing(ctx, key, noted)
	}
	return answer, receipt, err
}
