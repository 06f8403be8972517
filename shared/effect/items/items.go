// Package items performs an effect once per item of a batch's result [K4]: [Each] wraps the handler of
// one item.
package items

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Options are what an effect that runs once per item takes beside the handler of one item.
type Options struct {
	Ledger *ledger.Ledger
	// Results fetches the items. If it is nil, every attempt fails with ErrNoAPIKey.
	Results *results.Client
	Log     *slog.Logger
	// ByPosition performs the effect for items without a key, too, which are named by their position
	// in the result. Gemini does not keep the order of inline requests, so such an item may be the
	// answer to another request each time.
	ByPosition bool
}

// Each returns a handler that calls one for each item of a batch's result [K4], for several items
// at once. The task has the item, the item's own idempotency key, and the effect's payload with
// that key and the item in it. The documents that one returns are written in the commit that
// records its item, exactly once.
//
// Items are recorded in chunks, under their keys. After a crash the next run continues with the items
// that have no outcome, in whatever order the result comes then. It repeats at most one chunk, and the
// failures from before the run's first success, with the same keys and bytes. When its time is over, a
// run records its outcomes and leaves the rest to the next one. That is no failed attempt, as long as
// it finished an item. A run whose process gets SIGTERM does the same, and is never a failed attempt.
//
// A run tries the items that no run has tried, then those that failed before. An item that fails
// does not stop the others. Nor does a chunk that fails as a whole: a few more items are tried
// before the run ends. A failed item is retried with the effect's next attempt, after its back-off,
// until [ledger.Items.Record] records it as FAILED: at once if its failure is permanent.
//
// When every item is finished, the effect is DONE, or DEAD if some FAILED. A replay performs those
// again, with the same keys and bytes, as far as the ledger keeps them, even after Gemini has deleted
// the result. Other reasons make the effect DEAD, too:
//
//   - at once: the operation has no result, as one that is no batch, or an inline item is too large
//   - after a day: Gemini says that it does not have the result ("results lost"). Until then it is
//     asked again. Returned items are performed first, from what the ledger keeps.
//   - at the end: two readings lack the same items of the batch; a key stands twice, whose item is
//     performed once; or an item has no key, and ByPosition is not set
func Each(one effect.Handler, o Options) effect.Handler {
	return effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		return nil, (&itemRun{Options: o, one: one, task: task, at: task.Progress}).run(ctx)
	})
}

// ErrNoAPIKey is the error of every attempt that needs a batch's result where there is no client to
// fetch it.
var ErrNoAPIKey = errors.New("fetching results needs an API key")

// An itemRun is one attempt at an effect that runs once per item.
type itemRun struct {
	Options
	one     effect.Handler
	task    effect.Task
	payload payload
	// completion is the part of the payload that describes the batch.
	completion ledger.Payload

	// at is the recorded progress, with the Total and the Length that are known by now; began is what it
	// was, and recorded the recorded value of these two.
	at, began ledger.ItemProgress
	recorded  struct{ total, length int64 }

	keys   triedKeys
	waited int64         // how many items failed in an earlier run and were not tried in this one
	failed keySet        // of the items that failed in this run and are tried again
	older  keySet        // of those that wait since number 1 of the effect
	read   results.Tally // of the last result that was read to its end
	// uncounted is why the number of the batch's requests is unknown; nil if it is known, or Gemini
	// does not say it.
	uncounted error
	// held are failures that are not recorded yet: nothing in this run has succeeded, so it is not
	// known whether they count.
	held      []ledger.ItemOutcome
	succeeded bool // an item was done
	advanced  bool // an item was done, or failed permanently
	inVain    int  // chunks in a row in which neither happened
	stuck     bool // a pass ended early because of them
	whole     bool // there is no item that no run has tried
	twice     bool // an earlier run, too, has read the result to this end

	wish time.Duration // the longest delay that a failed item asked for
	// repeated is a key that stands twice in the result.
	repeated string

	cause error // why the last of the items failed that are retried
	last  error // why the last item failed
}

// run performs the effect for all unfinished items. It returns nil when there is none left.
func (r *itemRun) run(ctx context.Context) error {
	if r.Results == nil {
		return ErrNoAPIKey
	}
	var err error
	if r.completion, err = r.payload.parse(r.task.Payload); err != nil {
		return effect.Permanent(err)
	}
	window, cancel := WindowOf(ctx)
	defer cancel()
	r.began, r.waited, r.whole = r.at, r.at.Waiting(), r.at.Whole()
	r.keys = triedKeys{count: r.at.Next, sum: operation.ParseKeySum(r.at.Keys)}
	r.failed, r.older = keySet{}, keySet{}
	r.recorded.total, r.recorded.length, r.at.Tries = r.at.Total, r.at.Length, 0
	r.count(window)
	if r.at.Next > 0 && r.at.Keys == "" { // begun under number 1
		err = r.recall(window.Context)
	}
	if err == nil {
		err = r.passes(ctx, window)
	}
	if lost := leaseLost(ctx); lost != nil {
		return lost
	}
	if unrecorded := r.flush(ctx); unrecorded != nil {
		return unrecorded
	}
	end := r.ending(ctx, window, err)
	if unrecorded := r.settle(ctx, end); unrecorded != nil {
		return unrecorded
	}
	return end
}

// passes tries the items that no run has tried, then those that a replay returned, then those that
// failed before. It begins again if the result turns out to hold others than before.
func (r *itemRun) passes(ctx context.Context, w Window) error {
	for {
		lost := r.unlessStuck(r.untried(ctx, w))
		if lost != nil && !noResult(lost) {
			return lost
		}
		if err := r.unlessStuck(r.returned(ctx, w)); err != nil {
			return err
		}
		if lost != nil {
			return lost
		}
		if err := r.unlessStuck(r.again(ctx, w)); err != nil {
			return err
		}
		if r.stuck || r.whole {
			return nil
		}
	}
}

// unlessStuck records that a pass was stuck. The next one still tries a few items.
func (r *itemRun) unlessStuck(err error) error {
	if errors.Is(err, errStuck) {
		r.stuck = true
		return nil
	}
	return err
}

// count determines the number of requests, so that the progress is known from the start, and what is
// missing at the end. An error is no reason to fail before that.
func (r *itemRun) count(w Window) {
	if counts := r.completion.Result.Counts; counts != nil {
		r.at.Total = max(r.at.Total, counts.Total)
	} else if r.at.Total == 0 { // as in an event about the end
		r.at.Total, r.uncounted = r.Results.Count(w.Context, r.completion.Operation)
	}
}

// leaseLost returns why the caller no longer holds the effect; nil if it does.
func leaseLost(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ledger.ErrLeaseLost) || errors.Is(cause, effect.ErrLeaseEnds) {
		return cause
	}
	return nil
}

// ending returns the attempt's error after the last pass.
func (r *itemRun) ending(ctx context.Context, w Window, err error) error {
	waiting := r.at.Waiting() + r.at.Returned
	switch {
	case noResult(err): // also where the time is over
		return Unfetched(err)
	case errors.Is(err, effect.ErrContinue) && w.stopping():
		return effect.ErrStopped
	case errors.Is(err, effect.ErrContinue), err != nil && w.Over():
		if r.advanced {
			return effect.ErrContinue
		}
		// It is not handed on, since that could repeat for ever.
		return r.later(fmt.Errorf("no item finished within the attempt's time: %v", cmp.Or(r.cause, err)))
	case err != nil:
		return Unfetched(err)
	case r.stuck:
		return r.later(fmt.Errorf(
			"no item succeeds now, so the rest is left for later; items that wait: %d; the last error: %w", waiting, r.cause))
	case waiting > 0:
		cause := cmp.Or(r.cause, errUntried)
		return r.later(fmt.Errorf("items that failed and are tried again: %d; the last error: %w", waiting, cause))
	}
	return r.complete(ctx, w)
}

// later makes the next attempt wait for as long as the items ask for, and as often as they failed.
func (r *itemRun) later(err error) error {
	return effect.RetryAfter(err, max(r.wish, r.Ledger.Items.Backoff(r.at)))
}

// The cause of a failure where this run does not know it.
var (
	errUntried = errors.New("it could not be tried yet")
	errBefore  = errors.New("its document has the cause")
)

// settle records what no chunk did: the totals that the end of the result has shown, and the
// progress, unless the run's end records it in the operation's record.
func (r *itemRun) settle(ctx context.Context, end error) error {
	sameTotal, sameLength := r.at.Total == r.recorded.total, r.at.Length == r.recorded.length
	if sameTotal && (end == nil || sameLength && effect.IsPermanent(end)) {
		return nil
	}
	return effect.Insist(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := r.Ledger.Items.UpdateProgress(ctx, r.task.Lease, r.at)
		return err
	})
}

// An unfetchedError is the error of an attempt that could not fetch its result.
type unfetchedError struct{ error }

func (e unfetchedError) Unwrap() error { return e.error }

// ResultLost reports to [ledger.Effects.Release] whether Gemini says that it does not have the result.
func (e unfetchedError) ResultLost() bool { return errors.Is(e.error, results.ErrNotFound) }

// Unfetched returns the error of the attempt for an error of fetching a result.
func Unfetched(err error) error {
	if noResult(err) && !errors.Is(err, results.ErrNotFound) {
		return effect.Permanent(err)
	}
	if refused, ok := errors.AsType[*api.Error](err); ok {
		return effect.RetryAfter(unfetchedError{err}, min(refused.RetryAfter, effect.MaxRetryAfter))
	}
	return unfetchedError{err}
}

// noResult reports whether there is no result to be fetched now.
func noResult(err error) bool {
	return errors.Is(err, results.ErrNotFound) || errors.Is(err, results.ErrNone) || errors.Is(err, results.ErrTooLarge)
}
