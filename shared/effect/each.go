package effect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/results"
)

// EachOptions are what an effect that runs once per item takes beside the handler of one item.
type EachOptions struct {
	Ledger *ledger.Ledger
	// Results fetches the items. Nil: nobody said with which API key, and every attempt fails with that.
	Results *results.Client
	Log     *slog.Logger
	// Now is for Retry-After headers that name a time.
	Now func() time.Time
}

// Each returns a handler that has one perform the effect once for each item of a batch's result [K4]. One is called for several
// items at once, with a task that has the item's own idempotency key, the effect's payload with that key and the item in it,
// and the item itself. The documents that it returns are written in the commit that records its item, exactly once.
//
// Items are recorded in chunks, in the order of the result. A run that dies is taken up behind the last chunk that was
// recorded: at most one chunk is repeated, with the same keys and the same bytes. A run whose time is over, or that is told to
// stop, records what it has done and hands the rest on; that is no failed attempt, as long as it came further.
//
// An item that fails permanently, or as often as an effect may, is recorded as FAILED and the others go on; one that fails
// otherwise is tried again with the effect's next attempt, after its back-off. When every item has come to its end the effect
// is DONE, also where some FAILED: their number is in its progress, and said in an alert in the log. A result that Gemini no
// longer has makes the effect DEAD at once, with the error "results lost"; so does an operation that holds none, as one that is
// no batch.
func Each(one Handler, o EachOptions) Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		return nil, (&itemRun{EachOptions: o, one: one, task: task, at: task.Progress}).run(ctx)
	})
}

var errNoAPIKey = errors.New("fetching results needs an API key: set GEMINI_API_KEY, or OPLEDGER_GEMINI_API_KEY_SECRET to the name of its secret")

// errContinue says that an attempt ended because its time did, not because it failed.
var errContinue = errors.New("the time is over; the rest of the items is handed on")

// An itemRun is one attempt at an effect that runs once per item.
type itemRun struct {
	EachOptions
	one     Handler
	task    Task
	at      ledger.ItemProgress // as it was recorded last
	payload payload
	chunks  int           // recorded by this run
	tried   int64         // the index behind the last item that this run recorded
	wish    time.Duration // the longest that a failed item asked to be left alone
	cause   error         // why the last item failed that waits
}

// maxWaiting is how many items may wait for another attempt before a run goes no further: whatever fails them is not the items.
const maxWaiting = 1000

// run performs the effect for all items that have not come to their end. It returns nil when there is none left.
func (r *itemRun) run(ctx context.Context) error {
	if r.Results == nil {
		return errNoAPIKey
	}
	completion, err := r.payload.parse(r.task.Payload)
	if err != nil {
		return Permanent(err)
	}
	window, cancel := windowOf(ctx)
	defer cancel()
	r.total(window, completion)
	for {
		before := r.chunks
		err := r.pass(ctx, window, completion)
		// A download that broke off after it brought something is begun again where it ended.
		var broken brokenDownload
		if errors.As(err, &broken) && r.chunks > before && !window.over() {
			continue
		}
		return r.ending(ctx, window, err)
	}
}

// total finds out how many items there are, so that progress can be told from the start. Where nobody says they are counted at
// the end: a number is no reason to fail.
func (r *itemRun) total(w window, completion ledger.Payload) {
	if counts := completion.Result.Counts; counts != nil {
		r.at.Total = counts.Total
	} else if r.at.Total == 0 && completion.Result.OutputFile != "" { // as an event tells of the end
		r.at.Total, _ = r.Results.Count(w.ctx, completion.Operation)
	}
}

// ending says what the end of the last pass means for the effect.
func (r *itemRun) ending(ctx context.Context, w window, err error) error {
	switch {
	case noResult(err):
		return unfetched(err, r.Now)
	case errors.Is(context.Cause(ctx), ledger.ErrLeaseLost), errors.Is(context.Cause(ctx), errLeaseEnds):
		return context.Cause(ctx)
	case errors.Is(err, errContinue), err != nil && w.over():
		if r.chunks > 0 {
			return errContinue
		}
		return fmt.Errorf("the time was over before a single item was recorded: %v", err) // not handed on: it might go on for ever
	case err != nil:
		return unfetched(err, r.Now)
	case len(r.at.Waiting) > 0:
		return RetryAfter(fmt.Errorf("%d items failed and are tried again; the last one: %w", len(r.at.Waiting), r.cause), r.wish)
	}
	if r.at.Failed > 0 || r.at.Done+r.at.Failed < r.at.Total {
		r.Log.ErrorContext(ctx, "not every item of the result is done", "event", "alert", "reason", "items-failed",
			"operation", r.task.Operation, "effect", r.task.Effect, "done", r.at.Done, "failed", r.at.Failed, "total", r.at.Total)
	}
	return nil
}

// unfetched says what an error of fetching a result means for the effect.
func unfetched(err error, now func() time.Time) error {
	var refused *results.StatusError
	switch {
	case noResult(err):
		return Permanent(err)
	case errors.As(err, &refused):
		return RetryAfter(err, parseRetryAfter(refused.RetryAfter, now))
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

// of returns what the effect is told of one item: the completion's own members as they were frozen, with the item's key and the
// item. The bytes follow from the frozen payload and the result alone, so that they are the same on every attempt.
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
