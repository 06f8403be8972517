// Package reconcile is the slow path that surely does what the fast one usually does: it hands over effects that nobody works
// on, and asks Gemini about operations that wait for their end.
//
// One pass does, in this order, each with its own share of the time:
//
//  1. the sweep: effects that are due are published again, whatever became of their operation [R5];
//  2. the look-ups: pending operations that are due are asked about, and the answers go through the same door as the
//     webhook's deliveries [R2].
//
// A pass may be cut off anywhere, overlap another, or meet a record that it cannot handle: everything is taken by moving its
// due time on in a commit of its own just before it is worked on, so a second pass leaves it alone and a dead pass costs one
// interval [R6]. Nothing is closed by our own judgement: the terminal state is Gemini's to say [R4].
package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Reconciler makes passes. It holds nothing between them.
type Reconciler struct {
	ledger *ledger.Ledger
	lookup *lookup.Client
	log    *slog.Logger
	budget time.Duration
}

// DefaultBudget is how long a pass may take: it ends well before the function's own time limit, and before the next pass.
const DefaultBudget = 4 * time.Minute

// New returns a Reconciler whose passes take no longer than budget.
func New(l *ledger.Ledger, client *lookup.Client, budget time.Duration, log *slog.Logger) *Reconciler {
	return &Reconciler{ledger: l, lookup: client, budget: budget, log: log}
}

// A Summary says what a pass did.
type Summary struct {
	Due             int  `json:"due"`             // operations whose time had come
	Checked         int  `json:"checked"`         // operations that Gemini was asked about
	Settled         int  `json:"settled"`         // of those: found ended, and settled by this pass
	Running         int  `json:"running"`         // of those: known, and nothing to settle
	Unknown         int  `json:"unknown"`         // of those: Gemini gave no usable answer
	Missing         int  `json:"missing"`         // of those: not found at Gemini
	Stuck           int  `json:"stuck"`           // of those: pending for longer than they should
	EffectsRequeued int  `json:"effectsRequeued"` // effects handed over again
	Errors          int  `json:"errors"`          // records that could not be handled; the others were
	More            bool `json:"more"`            // the time ran out before everything due was seen
}

const (
	pageSize    = 100
	concurrency = 8
)

// Pass makes one pass. The error means that nothing could be read at all; whatever else goes wrong is logged, counted in
// Errors, and due again at the next pass.
func (r *Reconciler) Pass(ctx context.Context) (Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, r.budget)
	defer cancel()
	passStart, err := r.ledger.Now(ctx)
	if err != nil {
		return Summary{}, err
	}
	count := counter{log: r.log}
	sweepErr := r.sweep(ctx, &count, passStart)
	lookErr := r.look(ctx, &count, passStart)
	if sweepErr != nil && lookErr != nil {
		return count.Summary, errors.Join(sweepErr, lookErr)
	}
	return count.Summary, nil
}

// One looks up one operation now, whether or not it is due. ErrNotFound: the ledger does not have it.
func (r *Reconciler) One(ctx context.Context, key operation.Key) (lookup.Answer, ledger.Receipt, error) {
	story, err := r.ledger.Show(ctx, key)
	if err != nil {
		return lookup.Answer{}, ledger.Receipt{}, err
	}
	name := operation.Name{Key: key, Resource: story.Record.Name}
	answer := r.lookup.Lookup(ctx, name)
	if !answer.Known() {
		return answer, ledger.Receipt{}, nil
	}
	receipt, err := r.ledger.Ingest(ctx, answer.Event(name))
	return answer, receipt, err
}

// sweep hands over the effects that are due. It may take half of the time, so that an outage of the queue does not keep
// operations from being settled. The error is that of each.
func (r *Reconciler) sweep(ctx context.Context, count *counter, passStart time.Time) error {
	deadline, _ := ctx.Deadline() // Pass has set one, and the function's own may be sooner
	ctx, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancel()
	return each(ctx, count, passStart, r.ledger.DueEffects, func(due ledger.DueEffect) {
		switch err := r.ledger.Requeue(ctx, due, passStart); {
		case err == nil:
			count.add(&count.EffectsRequeued)
		case errors.Is(err, ledger.ErrConflict): // somebody is at it
		default:
			count.fail(ctx, "requeueing an effect", err)
		}
	})
}

// look asks Gemini about the operations that are due. The error is that of each.
func (r *Reconciler) look(ctx context.Context, count *counter, passStart time.Time) error {
	return each(ctx, count, passStart, r.ledger.DueOperations, func(due ledger.DueOperation) {
		count.add(&count.Due)
		postponed, err := r.ledger.Postpone(ctx, due, passStart)
		switch {
		case errors.Is(err, ledger.ErrConflict):
			return // another pass took it, or a delivery changed it
		case err != nil:
			count.fail(ctx, "taking an operation for this pass", err)
			return
		}
		if postponed.Stuck {
			count.add(&count.Stuck)
		}
		if postponed.Alert {
			r.log.WarnContext(ctx, "an operation has been pending for too long", "event", "alert", "reason", "stuck",
				"operation", due.Record.Key, "submittedAt", due.Record.SubmittedAt, "attempt", due.Record.Attempts+1)
		}
		count.add(&count.Checked)
		r.ask(ctx, count, due.Name())
	})
}

// ask looks one operation up and takes the answer in.
func (r *Reconciler) ask(ctx context.Context, count *counter, name operation.Name) {
	answer := r.lookup.Lookup(ctx, name)
	switch {
	case answer.Known():
		receipt, err := r.ledger.Ingest(ctx, answer.Event(name))
		if err != nil {
			count.fail(ctx, "taking in what Gemini said", err)
			return
		}
		if receipt.PublishErr != nil {
			count.fail(ctx, "publishing effects", receipt.PublishErr)
		}
		if receipt.Settled {
			count.add(&count.Settled)
		} else {
			count.add(&count.Running)
		}
		if receipt.Outcome != ledger.Dropped { // the usual answer is that nothing has changed
			r.log.InfoContext(ctx, "looked an operation up", "event", "ingest", "source", operation.Reconcile,
				"operation", receipt.Key, "state", receipt.State, "outcome", receipt.Outcome, "reason", receipt.Reason)
		}
		return
	case answer.Reason == lookup.NotFound:
		count.add(&count.Missing)
	case answer.Reason == lookup.Denied:
		count.add(&count.Unknown)
		count.denied.Do(func() { // once in a pass: it is most likely the key
			r.log.ErrorContext(ctx, "Gemini refuses the API key, or the key may not see an operation", "event", "alert", "reason", "denied",
				"operation", name.Key, "error", answer.Err)
		})
	case ctx.Err() != nil: // our time ran out, which says nothing about Gemini
		count.add(&count.Unknown)
		count.more()
	default:
		count.add(&count.Unknown)
	}
	r.log.WarnContext(ctx, "Gemini does not say how an operation stands", "event", "reconcile",
		"operation", name.Key, "outcome", "unknown", "reason", answer.Reason, "error", answer.Err)
}

// each finds what was due at passStart, page by page, and does everything on a page with bounded concurrency. It stops when
// ctx ends and counts that as more to do. The error, which is counted too, means that not even the first page could be read.
func each[T any](
	ctx context.Context, count *counter, passStart time.Time,
	find func(context.Context, time.Time, ledger.Cursor, int) (ledger.DuePage[T], error), do func(T),
) error {
	var after ledger.Cursor
	for {
		page, err := find(ctx, passStart, after, pageSize)
		if err != nil {
			count.fail(ctx, "reading what is due", err)
			count.more()
			if after.Path == "" {
				return err
			}
			return nil
		}
		for _, err := range page.Broken {
			count.fail(ctx, "reading a record", err)
		}
		var group errgroup.Group
		group.SetLimit(concurrency)
		for _, item := range page.Items {
			group.Go(func() error {
				if ctx.Err() != nil {
					count.more()
				} else {
					do(item)
				}
				return nil
			})
		}
		_ = group.Wait() // nothing above returns an error
		if after = page.Next; after.Path == "" {
			return nil
		}
	}
}

// A counter is a Summary that many goroutines add to.
type counter struct {
	log *slog.Logger
	sync.Mutex
	Summary
	denied sync.Once
}

func (c *counter) add(field *int) {
	c.Lock()
	defer c.Unlock()
	*field++
}

func (c *counter) more() {
	c.Lock()
	defer c.Unlock()
	c.More = true
}

// fail counts and logs an error that concerns one record; here is where something is done about it.
func (c *counter) fail(ctx context.Context, doing string, err error) {
	if ctx.Err() != nil {
		c.more() // the time ran out; that is no error of the record's
		return
	}
	c.add(&c.Errors)
	c.log.ErrorContext(ctx, doing, "event", "reconcile", "outcome", "error", "error", err)
}
