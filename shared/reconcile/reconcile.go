// Package reconcile is the slow path that surely does what the fast one usually does: it hands over effects that nobody works
// on, asks Gemini about operations that wait for their end, and finds operations whose submitter died before it registered them.
//
// One pass does, in this order, each with its own share of the time, so that nothing behind starves what is in front, and
// nothing in front takes it all:
//
//  1. the sweep: effects that are due are published again, whatever became of their operation [R5];
//  2. the look-ups: pending operations that are due are asked about, and the answers go through the same door as the
//     webhook's deliveries [R2]. Batches are found in Gemini's list of batches where that takes fewer requests, or where
//     asking for one fails;
//  3. discovery: batches in that list whose correlation id an intent waits under are bound to it [G6], and those that nobody
//     registered are adopted where the settings say so; names that deliveries brought for an intent are looked up;
//  4. alerts: intents that nothing matched are given up, aloud, the webhook's own health is looked at [R4], and what has been
//     due for too long is reported [R8].
//
// A pass may be cut off anywhere, overlap another, or meet a record that it cannot handle: everything is taken by moving its
// due time on in a commit of its own just before it is worked on, so a second pass leaves it alone and a dead pass costs one
// interval [R6]. Nothing is closed by our own judgement: the terminal state is Gemini's to say [R4].
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

// DefaultBudget is how long a pass may take: it ends well before the function's own time limit, and before the next pass.
const DefaultBudget = 4 * time.Minute

// Options are what a Reconciler works with.
type Options struct {
	Ledger *ledger.Ledger
	Gemini *lookup.Client
	// Adopt registers batches that discovery finds and nobody registered.
	Adopt bool
	// Endpoint is looked at in every pass; nil: none is.
	Endpoint *Endpoint
	// Budget is how long a pass may take; 0: DefaultBudget.
	Budget time.Duration
	Log    *slog.Logger
}

// A Reconciler makes passes. It holds nothing between them.
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
}

// The parts of the time that is left to a pass which its steps may take.
const (
	sweepShare     = 0.25
	lookShare      = 0.75
	discoveryShare = 0.7
)

// Pass makes one pass. The error means that nothing could be read at all; whatever else goes wrong is logged, counted in
// Errors, and due again at the next pass.
func (r *Reconciler) Pass(ctx context.Context) (Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Budget)
	defer cancel()
	start, err := r.Ledger.Now(ctx)
	if err != nil {
		return Summary{}, err
	}
	p := r.pass(start)
	sweepErr := within(ctx, sweepShare, p.sweep)
	lookErr := within(ctx, lookShare, p.look)
	if sweepErr != nil && lookErr != nil {
		return p.count.Summary, errors.Join(sweepErr, lookErr)
	}
	_ = within(ctx, discoveryShare, p.discover) // it has counted what went wrong
	p.checkEndpoint(ctx)
	p.checkBacklog(ctx)
	return p.count.Summary, nil
}

// Sweep makes the first step of a pass alone: it hands over the effects that are due, for which Gemini is not needed [R5].
// Errors: as Pass.
func (r *Reconciler) Sweep(ctx context.Context) (Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Budget)
	defer cancel()
	start, err := r.Ledger.Now(ctx)
	if err != nil {
		return Summary{}, err
	}
	p := r.pass(start)
	err = p.sweep(ctx)
	return p.count.Summary, err
}

func (r *Reconciler) pass(start time.Time) *pass {
	p := &pass{Options: r.Options, start: start, count: &counter{log: r.Log}, pace: newPacer()}
	p.listing = newListing(r.Gemini, p.pace)
	return p
}

// within runs a step that may take so much of the time that is left to ctx.
func within(ctx context.Context, part float64, step func(context.Context) error) error {
	deadline, _ := ctx.Deadline() // Pass has set one, and the function's own may be sooner
	ctx, cancel := context.WithTimeout(ctx, time.Duration(part*float64(time.Until(deadline))))
	defer cancel()
	return step(ctx)
}

// One looks up one operation now, whether or not it is due, and takes the answer in as a pass does. ErrNotFound: the ledger
// does not have it.
func (r *Reconciler) One(ctx context.Context, key operation.Key) (lookup.Answer, ledger.Receipt, error) {
	rec, err := r.Ledger.Record(ctx, key)
	if err != nil {
		return lookup.Answer{}, ledger.Receipt{}, err
	}
	p := r.pass(time.Time{})
	name := operation.Name{Key: key, Resource: rec.Name}
	answer := p.ask(ctx, name)
	var receipt ledger.Receipt
	if answer.Known() {
		if receipt, err = r.Ledger.Ingest(ctx, answer.Event(name)); err != nil {
			return answer, receipt, err
		}
	}
	if !answer.Known() || rec.HasCondition() {
		err = p.note(ctx, key, ledger.Condition(answer.Reason))
	}
	return answer, receipt, err
}
