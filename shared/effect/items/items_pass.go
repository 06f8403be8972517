package items

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
)

// The bounds of one chunk: so much of a result is held at a time. After a chunk in which no item was
// finished, only maxProbes chunks of probeItems are tried. If they fail too, the items are not the cause.
const (
	maxChunkItems = 100
	maxChunkBytes = 4 << 20
	probeItems    = 10
	maxProbes     = 5
)

// A pass over items that wait tries at most firstWaiting at first, as many as one that is stuck tries,
// so that all have their turn. Then it holds at most maxWaiting keys.
const (
	firstWaiting = maxChunkItems + maxProbes*probeItems
	maxWaiting   = 100_000
)

// A brokenDownload is an error of the download, not of an item.
type brokenDownload struct{ error }

func (e brokenDownload) Unwrap() error { return e.error }

// errStuck ends a pass in which chunk after chunk failed.
var errStuck = errors.New("nothing succeeds")

// A source returns items one after the other, and io.EOF after the last.
type source interface {
	Next() (results.Item, error)
}

// untried performs the effect for the items that no run has tried, from a download that is resumed
// if it breaks off. An item without a key, and one with a key that an earlier one had, is left out.
func (r *itemRun) untried(ctx context.Context, w Window) error {
	for !r.whole {
		began := r.keys.count
		err := r.download(ctx, w, r.open, func(reader *results.Reader) error {
			gone := r.keys.count
			untried := func(item results.Item) bool {
				switch {
				case item.Repeated:
					r.repeated = cmp.Or(r.repeated, item.Key)
					return false
				case item.Key == "":
					return false
				case r.keys.all.has(item.Key):
					gone--
					return false
				}
				return true
			}
			if r.keys.all == nil {
				gone = 0
			}
			return r.walk(ctx, w, pass{from: reader, wanted: untried, ended: func() { r.ended(ctx, gone, reader.Tally()) }})
		})
		var broken brokenDownload
		if again := errors.As(err, &broken) && r.keys.count > began && !w.Over(); !again {
			return err
		}
	}
	return nil
}

// ended notes the tally of a result that was read to its end. gone is how many tried items it lacks.
func (r *itemRun) ended(ctx context.Context, gone int64, read results.Tally) {
	r.differs(ctx, gone, read)
	before := r.began.Length > 0 && r.began.Next == r.began.Length // then Keys are those of that result
	r.twice = before && read.Keys == r.began.Length && read.Sum.String() == r.began.Keys
	r.whole, r.read, r.at.Length = true, read, read.Keys
	if r.uncounted == nil {
		r.at.Total = max(r.at.Total, read.Items)
	}
}

// again performs the effect for the items that failed in an earlier run: at first for those that have
// waited longest, so that all are tried in the end if more wait than a failing run would try. It reads
// the result to its end: where it holds others than before, they are untried.
func (r *itemRun) again(ctx context.Context, w Window) error {
	for most := firstWaiting; r.waited > 0; most = maxWaiting {
		waiting, err := r.longestWaiting(w.Context, most)
		if err != nil {
			return err
		}
		before := r.waited
		err = r.download(ctx, w, r.start, func(reader *results.Reader) error {
			wanted := func(item results.Item) bool {
				return !item.Repeated && item.Key != "" && waiting.has(item.Key) && !r.failed.has(item.Key)
			}
			return r.walk(ctx, w, pass{from: reader, wanted: wanted, known: true, ended: func() {
				r.whole = r.whole && reader.Tally().Sum == r.keys.sum
			}})
		})
		var broken brokenDownload
		switch {
		case err != nil && (!errors.As(err, &broken) || r.waited == before || w.Over()):
			return err
		case r.waited == before && most == maxWaiting:
			return fmt.Errorf("the result lacks %d items that failed before", r.waited)
		}
	}
	return nil
}

// download opens the result and reads it.
func (r *itemRun) download(
	ctx context.Context, w Window, open func(context.Context, Window) (*results.Reader, error),
	read func(*results.Reader) error,
) error {
	reader, err := open(ctx, w)
	if err != nil {
		return err
	}
	defer reader.Close() //nolint:errcheck // what was read of it is known
	return read(reader)
}

// A pass is what walk goes through.
type pass struct {
	from   source
	wanted func(results.Item) bool
	known  bool   // the wanted items have an outcome
	ended  func() // called at the end of the source, before the last items are performed
}

// walk performs the effect for the wanted items of a pass, chunk by chunk: to its end, or until it is
// stuck.
func (r *itemRun) walk(ctx context.Context, w Window, p pass) error {
	most := r.inVain + maxProbes
	for {
		if w.Closing() {
			return effect.ErrContinue
		}
		limit, bytes := maxChunkItems, maxChunkBytes
		if r.inVain > 0 {
			limit, bytes = probeItems, maxChunkBytes/maxChunkItems*probeItems
		}
		items, err := chunkOf(p.from, p.wanted, limit, bytes)
		if errors.Is(err, io.EOF) && p.ended != nil {
			p.ended()
		}
		if len(items) > 0 { // also what came before the download broke
			if err := r.chunk(ctx, w, items, p.known); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return brokenDownload{err}
		case r.inVain > most:
			return errStuck
		}
	}
}

// chunkOf reads the next wanted items. It returns those that it read before an error, too.
func chunkOf(from source, wanted func(results.Item) bool, limit, bytes int) ([]results.Item, error) {
	var items []results.Item
	// A large item is the last of its chunk: the Reader gives its room back when it goes on.
	for size, large := 0, false; len(items) < limit && size < bytes && !large; {
		item, err := from.Next()
		if err != nil {
			return items, err
		}
		if wanted(item) {
			items = append(items, item)
			size += len(item.Response) + len(item.Error)
			large = len(item.Response)+len(item.Error) > results.LargeItemBytes
		}
	}
	return items, nil
}

// chunk performs the effect for some items and records the outcomes. known: they have one. Failures are held back until
// something in the run succeeds, or until its end. A failure while everything fails proves nothing
// about the item.
func (r *itemRun) chunk(ctx context.Context, w Window, items []results.Item, known bool) error {
	outcomes := r.performAll(w, items)
	advanced := false
	for i := range outcomes {
		o := &outcomes[i]
		if o.Known = known; known {
			r.waited--
		} else {
			r.keys.add(o.Key)
		}
		r.succeeded = r.succeeded || o.Err == nil
		advanced = advanced || o.Err == nil || o.Permanent
		r.noteFailure(*o)
	}
	r.held = append(r.held, outcomes...)
	if advanced || r.succeeded {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	r.advanced = r.advanced || advanced
	switch {
	case len(outcomes) < len(items):
		return effect.ErrContinue
	case advanced:
		r.inVain = 0
	default:
		r.inVain++
	}
	return nil
}

// noteFailure keeps why an item failed, if it did.
func (r *itemRun) noteFailure(o ledger.ItemOutcome) {
	if o.Err == nil {
		return
	}
	r.last = fmt.Errorf("item %s: %w", o.Key, o.Err)
	if !o.Permanent {
		r.failed.add(o.Key)
		r.cause, r.wish = r.last, max(r.wish, effect.RetryDelay(o.Err))
	}
}

// flush records what is held.
func (r *itemRun) flush(ctx context.Context) error {
	held := r.held
	r.held = nil
	for i := range held {
		held[i].Counts = r.succeeded
	}
	return r.record(ctx, held)
}
