package effect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// EachOptions are what an effect that runs once per item takes beside the handler of one item.
type EachOptions struct {
	Ledger *ledger.Ledger
	// Results fetches the items. Nil: nobody said with which API key, and every attempt fails with
	// that.
	Results *results.Client
	Log     *slog.Logger
}

// Each returns a handler that has one perform the effect once for each item of a batch's result
// [K4]. One is called for several items at once, with a task that has the item's own idempotency
// key, the effect's payload with that key and the item in it, and the item itself. The documents
// that it returns are written in the commit that records its item, exactly once.
//
// Items are recorded in chunks, in the order of the result. A run that dies is taken up behind the
// last chunk that was recorded: at most one chunk is repeated, with the same keys and the same
// bytes; beside it only what failed while nothing in the run had succeeded. A run whose time is
// over, or that is told to stop, records what it has done and hands the rest on; that is no failed
// attempt, as long as an item came to its end.
//
// A run tries the items that no run has tried yet, then those that failed before. One that fails
// does not stop the others, nor does a chunk that fails wholly: a few items further on are tried
// before the run ends. An item is tried again with the effect's next attempt, after its back-off,
// until [ledger.Ledger.RecordItems] gives it up as FAILED: at once where its failure is permanent.
//
// When every item has come to its end the effect is DONE, or DEAD where some FAILED: a replay
// performs those again, with the same keys and bytes, also after Gemini has let go of the result,
// as far as the ledger keeps them. A result that Gemini no longer has makes the effect DEAD, too,
// with the error "results lost", as soon as nothing that is kept is left; so does an operation that
// holds none, as one that is no batch. A result with fewer items than the batch is said in an alert
// in the log.
func Each(one Handler, o EachOptions) Handler {
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		return nil, (&itemRun{EachOptions: o, one: one, task: task, at: task.Progress}).run(ctx)
	})
}

// ErrNoAPIKey is the error of every attempt that needs a batch's result where there is no client that fetches it.
var ErrNoAPIKey = errors.New("fetching results needs an API key")

// errContinue says that an attempt ended because its time did, not because it failed.
var errContinue = errors.New("the time is over; the rest of the items is handed on")

// An itemRun is one attempt at an effect that runs once per item.
type itemRun struct {
	EachOptions
	one     Handler
	task    Task
	payload payload
	// completion is what the payload says of the batch.
	completion ledger.Payload

	// at is how far the items have come, as it was recorded last, with the Total and the Length
	// that are known by now; recorded is what was recorded of these two.
	at       ledger.ItemProgress
	recorded struct{ total, length int64 }

	next   int64         // the index of the first item that neither this run nor one before has tried
	waited ledger.Ranges // the items that failed in a run before and that this one has not tried
	// held are failures that are not recorded yet, since nothing in this run has succeeded: whether
	// they count is not known.
	held      []ledger.ItemOutcome
	succeeded bool // an item was done
	advanced  bool // an item was done, or refused for good
	inVain    int  // chunks in a row without either
	stuck     bool // a pass went no further, because of those
	whole     bool // there is no item that no run has tried

	wish  time.Duration // the longest that a failed item asked to be left alone
	cause error         // why the last item failed that is tried again
	last  error         // why the last item failed
}

// run performs the effect for all items that have not come to their end. It returns nil when there
// is none left.
func (r *itemRun) run(ctx context.Context) error {
	if r.Results == nil {
		return ErrNoAPIKey
	}
	var err error
	if r.completion, err = r.payload.parse(r.task.Payload); err != nil {
		return Permanent(err)
	}
	window, cancel := windowOf(ctx)
	defer cancel()
	r.next, r.waited, r.whole = r.at.Next, r.at.Waiting, r.at.Whole()
	r.recorded.total, r.recorded.length, r.at.Tries = r.at.Total, r.at.Length, 0
	r.count(window)
	err = r.passes(ctx, window)
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
// failed before; and what was left of the first, where too many were waiting.
func (r *itemRun) passes(ctx context.Context, w window) error {
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
		if r.stuck || r.whole || r.crowded() {
			return nil
		}
	}
}

// unlessStuck notes that a pass was stuck. The next one still tries a few items.
func (r *itemRun) unlessStuck(err error) error {
	if errors.Is(err, errStuck) {
		r.stuck = true
		return nil
	}
	return err
}

// count finds out how many items there are, so that progress can be told from the start. Where
// nothing says so they are counted at the end: a number is no reason to fail.
func (r *itemRun) count(w window) {
	if counts := r.completion.Result.Counts; counts != nil {
		r.at.Total = counts.Total
	} else if r.at.Total == 0 && r.completion.Result.OutputFile != "" { // as an event tells of the end
		r.at.Total, _ = r.Results.Count(w.ctx, r.completion.Operation)
	}
}

// leaseLost returns why the caller no longer holds the effect, where it does not.
func leaseLost(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, ledger.ErrLeaseLost) || errors.Is(cause, errLeaseEnds) {
		return cause
	}
	return nil
}

// ending says what the end of the last pass means for the effect.
func (r *itemRun) ending(ctx context.Context, w window, err error) error {
	waiting := r.at.Waiting.Count() + r.at.Returned
	switch {
	case noResult(err):
		return unfetched(err)
	case errors.Is(err, errContinue), err != nil && w.over():
		if r.advanced {
			return errContinue
		}
		// Not handed on: it might go on for ever.
		return r.later(fmt.Errorf("the time was over before a single item came to its end: %v", cmp.Or(r.cause, err)))
	case err != nil:
		return unfetched(err)
	case r.stuck:
		return r.later(fmt.Errorf("nothing succeeded any more, the rest is left for later, and %d items wait; the last: %w", waiting, r.cause))
	case waiting > 0:
		return r.later(fmt.Errorf("%d items failed and are tried again; the last one: %w", waiting, cmp.Or(r.cause, errUntried)))
	}
	if r.at.Failed > 0 || r.at.Done < r.at.Total {
		r.Log.ErrorContext(ctx, "not every item of the result is done", "event", "alert", "reason", "items-failed",
			"operation", r.task.Operation, "effect", r.task.Effect, "done", r.at.Done, "failed", r.at.Failed, "total", r.at.Total)
	}
	if r.at.Failed > 0 {
		return Permanent(fmt.Errorf("%d of %d items failed; the last one: %w", r.at.Failed, r.at.Done+r.at.Failed, cmp.Or(r.last, errBefore)))
	}
	return nil
}

// later has the rest of the items wait for as long as they ask for, and as often as they failed.
func (r *itemRun) later(err error) error {
	return RetryAfter(err, max(r.wish, r.Ledger.ItemsBackoff(r.at)))
}

// What stands for the cause of a failure where this run does not know of one.
var (
	errUntried = errors.New("it could not be tried yet")
	errBefore  = errors.New("its document says why")
)

// settle records what no chunk did: the numbers that the end of the result has told, and, where the
// run's end does not say so in the operation's record, how far the items have come.
func (r *itemRun) settle(ctx context.Context, end error) error {
	sameTotal, sameLength := r.at.Total == r.recorded.total, r.at.Length == r.recorded.length
	if sameTotal && (end == nil || sameLength && IsPermanent(end)) {
		return nil
	}
	return insist(context.WithoutCancel(ctx), func(ctx context.Context) error {
		next, err := r.Ledger.UpdateProgress(ctx, r.task.Lease, r.at)
		if err == nil {
			r.at = next
		}
		return err
	})
}

// unfetched says what an error of fetching a result means for the effect.
func unfetched(err error) error {
	var refused *api.Error
	switch {
	case noResult(err):
		return Permanent(err)
	case errors.As(err, &refused):
		return RetryAfter(err, min(refused.RetryAfter, maxRetryAfter))
	default:
		return err
	}
}

// noResult reports whether there is no result to be fetched, now or later.
func noResult(err error) bool {
	return errors.Is(err, results.ErrLost) || errors.Is(err, results.ErrNone) || errors.Is(err, results.ErrTooLarge)
}

// A payload is the effect's, with which that of each item is made.
type payload map[string]json.RawMessage

func (p *payload) parse(frozen []byte) (ledger.Payload, error) {
	var completion ledger.Payload
	if err := errors.Join(json.Unmarshal(frozen, &completion), json.Unmarshal(frozen, p)); err != nil {
		return completion, fmt.Errorf("reading the payload of the effect: %w", err)
	}
	return completion, nil
}

// of returns what the effect is told of one item: the completion's own members as they were frozen,
// with the item's key and the item. The bytes follow from the frozen payload and the result alone,
// so that they are the same on every attempt.
func (p payload) of(item results.Item, idempotencyKey string) ([]byte, error) {
	said := map[string]any{"key": item.Key}
	if item.Error != nil {
		said["error"] = item.Error
	} else {
		said["response"] = item.Response
	}
	members := map[string]any{}
	for name, value := range p {
		members[name] = value
	}
	members["idempotencyKey"], members["item"] = idempotencyKey, said
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // the model's own words stay as they are
	if err := encoder.Encode(members); err != nil {
		return nil, fmt.Errorf("encoding the payload of item %s: %w", item.Key, err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}
