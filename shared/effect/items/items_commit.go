package items

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// The bounds of one commit. Firestore accepts 10 MiB, index entries included, and some hundreds of
// documents. One item alone may be larger.
const (
	maxCommitWrites = 400
	maxCommitBytes  = 4 << 20
	// itemBytes is the most that the document of an item takes beside a response that it keeps.
	itemBytes = 4 << 10
)

// record records outcomes in as few commits as they fit in, even if the context has ended: an
// effect that happened without a record is repeated.
func (r *itemRun) record(ctx context.Context, outcomes []ledger.ItemOutcome) error {
	for len(outcomes) > 0 {
		n := fitting(outcomes)
		if err := r.commit(ctx, outcomes[:n]); err != nil {
			return err
		}
		outcomes = outcomes[n:]
	}
	return nil
}

// fitting returns how many of the outcomes one commit may hold: at least one.
func fitting(outcomes []ledger.ItemOutcome) int {
	writes, size := 0, 0
	for n, o := range outcomes {
		writes++
		size += itemBytes
		if o.Err == nil {
			writes += len(o.ExtraWrites)
			size += sizeOf(o.ExtraWrites)
		} else {
			size += len(o.Response) + len(o.Error) // in case it is FAILED
		}
		if n > 0 && (writes > maxCommitWrites || size > maxCommitBytes) {
			return n
		}
	}
	return len(outcomes)
}

// sizeOf returns the approximate size of documents in a store, in bytes.
func sizeOf(writes []ledger.Write) int {
	size := 0
	for _, w := range writes {
		// The store itself refuses what has no form in JSON.
		text, _ := json.Marshal(w.Data)
		size += len(w.Path) + len(text)
	}
	return size
}

// commit records outcomes in one commit. If the store does not accept them together it makes
// smaller ones, down to one item each. An item that cannot be recorded with its documents is
// recorded as failed without them. One that is too large to be kept is recorded without its
// response or error.
func (r *itemRun) commit(ctx context.Context, outcomes []ledger.ItemOutcome) error {
	ctx = context.WithoutCancel(ctx)
	size, until := len(outcomes), time.Now().Add(effect.RecordTimeout)
	for {
		recorded, err := r.insist(ctx, until, outcomes[:size])
		refused := ledger.Permanent(err) || errors.Is(err, ledger.ErrContention)
		switch {
		case err == nil && recorded == len(outcomes):
			return nil
		case err == nil:
			outcomes = outcomes[recorded:]
			size, until = min(2*size, len(outcomes)), time.Now().Add(effect.RecordTimeout)
		case size > 1 && (refused || errors.Is(err, ledger.ErrUnavailable)):
			size /= 2
		case size == 1 && refused && len(outcomes[0].ExtraWrites) > 0:
			alone := &outcomes[0]
			alone.ExtraWrites, alone.Permanent = nil, ledger.Permanent(err)
			alone.Err = fmt.Errorf("its documents cannot be written: %w", err)
			r.noteFailure(*alone)
		case size == 1 && ledger.Permanent(err) && len(outcomes[0].Response)+len(outcomes[0].Error) > 0:
			outcomes[0].Response, outcomes[0].Error = nil, nil
		default:
			return err
		}
	}
}

const (
	// patience is how often a commit of several items is tried while the store is unavailable. The commit
	// itself may be the cause of a longer outage, so it is divided then.
	patience      = 3
	patiencePause = 200 * time.Millisecond
)

// insist makes one commit, and retries it while the store is unavailable: of one item until the
// given time, of several patience times. It returns how many of the outcomes are recorded. That may
// be more than this commit holds, if an earlier, larger commit succeeded although its answer was
// lost.
func (r *itemRun) insist(ctx context.Context, until time.Time, outcomes []ledger.ItemOutcome) (int, error) {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var refused error
	for tries := 1; ; tries++ {
		next, err := r.Ledger.Items.Record(ctx, r.task.Lease, r.at, outcomes)
		switch {
		case err == nil:
			r.recorded.total, r.recorded.length = r.at.Total, r.at.Length
			r.at = next
			return next.Recorded, nil
		case !errors.Is(err, ledger.ErrUnavailable):
			if refused != nil && ctx.Err() != nil { // add the store's error
				err = fmt.Errorf("%w (%w)", refused, err)
			}
			return 0, err
		case len(outcomes) > 1 && tries >= patience, !effect.Wait(ctx, patiencePause):
			return 0, err
		}
		refused = err
	}
}
