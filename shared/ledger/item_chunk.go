package ledger

import (
	"time"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/operation"
)

// A chunk is what one commit records of items.
type chunk struct {
	ledger   *protocol
	lease    Lease
	read     Snapshot
	now      time.Time // of read
	record   operation.Record
	before   []Document // of the Known items, in order
	progress ItemProgress
	advanced bool // an item was done, or failed permanently
	items    []Write
	extra    []Write
}

func (c *chunk) add(outcomes []ItemOutcome) error {
	c.progress.Chunks++
	c.progress.Recorded = len(outcomes)
	keys := operation.ParseKeySum(c.progress.Keys)
	for _, o := range outcomes {
		path := c.lease.itemPath(o)
		doc, item := Document{Path: path}, Item{CreatedAt: c.now}
		if o.Known {
			doc, c.before = c.before[0], c.before[1:]
			if doc.Exists() {
				var err error
				if item, err = readItem(doc); err != nil {
					return err
				}
			}
		} else {
			c.progress.Next++
			keys = keys.With(operation.HashKey(printable(o.Key)))
		}
		c.items = append(c.items, Write{Path: path, Token: doc.Token, Data: c.outcome(item, o)})
	}
	if c.progress.Keys != "" || c.progress.Chunks == 1 { // else the keys of the first are not known
		c.progress.Keys = keys.String()
	}
	return nil
}

// itemPath returns where the item of an outcome is.
func (l Lease) itemPath(o ItemOutcome) Path { return ItemPath(l.Operation, l.Effect, printable(o.Key)) }

// outcome counts an item's outcome, and returns its document.
func (c *chunk) outcome(item Item, o ItemOutcome) Item {
	if item.State == ItemFailed { // returned by a replay
		c.progress.Returned--
		item.Attempts, item.Failures, item.FailingSince = 0, 0, time.Time{}
	}
	key := printable(o.Key)
	item.Schema, item.Version = max(item.Schema, operation.SchemaVersion), item.Version+1
	item.Operation, item.Effect, item.Key, item.Index = c.lease.Operation, c.lease.Effect, key, o.Index
	item.IdempotencyKey = operation.ItemIdempotencyKey(item.Operation, item.Effect, key)
	item.Fence = c.lease.Fence
	item.WaitingSince = time.Time{}
	if o.Untried {
		return c.waits(item)
	}
	item.Attempts++
	if o.Err != nil {
		return c.failed(item, o)
	}
	c.progress.Done++
	c.extra = append(c.extra, o.ExtraWrites...)
	c.advanced = true
	item.State, item.ExpireAt = ItemDone, c.expiry()
	item.FailingSince, item.FailedAt, item.FetchableUntil = time.Time{}, time.Time{}, time.Time{}
	item.Response, item.Error = "", ""
	return item
}

func (c *chunk) expiry() time.Time { return c.now.Add(2 * c.ledger.settings.Retention) }

// waits returns the document of an item that is to be tried again. One that was FAILED before keeps
// its FailedAt and what is kept.
func (c *chunk) waits(item Item) Item {
	item.State, item.WaitingSince, item.ExpireAt = ItemPending, operation.Instant(c.now), time.Time{}
	if item.FailedAt.IsZero() {
		item.ExpireAt = c.expiry()
	}
	return item
}

// failed counts a failure of an item, and gives the item up where it is one too many.
func (c *chunk) failed(item Item, o ItemOutcome) Item {
	item.LastError, item.LastStatus = causeText(o.Err), httpStatus(o.Err)
	item.LastFailedAt = operation.Instant(c.now)
	if item.FailingSince.IsZero() {
		item.FailingSince = operation.Instant(c.now)
	}
	notAfter(operation.Instant(c.now), &item.FailingSince)
	if o.Counts {
		item.Failures++
	}
	c.advanced = c.advanced || o.Permanent
	if !o.Permanent && !c.ledger.givesUpItem(item, c.read.since(item.FailingSince)) {
		c.progress.Tries = max(c.progress.Tries, item.Attempts)
		return c.waits(item)
	}
	c.progress.Failed++
	item.State, item.FailedAt, item.ExpireAt = ItemFailed, operation.Instant(c.now), time.Time{}
	size, valid := len(o.Response)+len(o.Error), utf8.Valid(o.Response) && utf8.Valid(o.Error)
	if size > 0 && size <= MaxKeptBytes && valid {
		item.Response, item.Error = string(o.Response), string(o.Error)
	}
	if item.Response == "" && item.Error == "" {
		item.FetchableUntil = c.fetchableUntil()
	}
	return item
}

// givesUpItem reports whether an item is given up that has been failing for so long [S4].
func (l *protocol) givesUpItem(item Item, failing time.Duration) bool {
	often, long := item.Attempts >= l.settings.MaxAttempts, failing >= l.settings.RetryFor
	return item.Failures >= l.settings.MaxAttempts || often && long
}

// fetchableUntil returns until when Gemini probably has an operation's result.
func (c *chunk) fetchableUntil() time.Time {
	rec := c.record
	ended := rec.UpdateTime
	if operation.Missing(ended) { // no event had a time
		ended = rec.SettledAt
	}
	return operation.Instant(ended.Add(c.ledger.settings.ResultsKept))
}
