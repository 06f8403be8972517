package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An Outcome is what became of a report, in words that answers, documents, logs and metrics share.
type Outcome string

// The outcomes of a report.
const (
	Applied   Outcome = "applied"   // the record changed
	Dropped   Outcome = "dropped"   // it says nothing new, or something older [M8]
	Duplicate Outcome = "duplicate" // this very delivery was taken in before [W4]
	Conflict  Outcome = "conflict"  // a different end than the one that stands [M5]
)

// A Receipt says what Ingest did.
type Receipt struct {
	Key        operation.Key
	Outcome    Outcome
	Reason     operation.Reason // empty for a duplicate
	Registered bool             // whether somebody registered the operation
	State      operation.State  // of the record afterwards
	Settled    bool             // whether this report settled the operation
	Planned    int              // how many effects it planned
	Bound      bool             // whether it showed what an intent came to, and so registered the operation [G6]
	// Withheld: the operation had ended so long before the ledger first heard of it that no effect was planned [L3].
	Withheld bool
	// PublishErr says why a planned effect could not be handed over at once. It loses nothing, the sweep does it later; it is
	// here to be logged.
	PublishErr error
}

// Ingest is the one door for everything that may change an operation's state, from whichever path [M7]. When it returns
// without an error the decision is durable [W3].
//
// A delivery seen before is a Duplicate and writes nothing [W4]. A report that the reducer drops leaves its delivery behind
// and nothing else. One that it applies changes the record, leaves its delivery, and plans the effects that the new state
// asks for, in one commit; then their messages are published. An operation that the ledger does not know becomes a record
// that nobody registered, and runs no effect [W5]; unless an intent waits for the event's correlation id: then that commit
// registers the operation and binds the intent to it, whatever the reducer makes of the report itself [G6].
//
// Errors: ErrContention, ErrUnavailable or the context's end, after which the same event can be ingested again, by this
// process or another, without harm; ErrInvalid, which no retry mends.
func (l *Ledger) Ingest(ctx context.Context, e operation.Event) (Receipt, error) {
	receipt, messages, err := l.ingest(ctx, e)
	if err != nil {
		return Receipt{Key: e.Key}, err
	}
	receipt.PublishErr = l.send(ctx, messages)
	return receipt, nil
}

// ingest is Ingest up to the commit.
func (l *Ledger) ingest(ctx context.Context, e operation.Event) (receipt Receipt, messages []Message, err error) {
	leave, err := l.queue.enter(ctx, e.Key)
	if err != nil {
		return receipt, nil, fmt.Errorf("waiting to report on %s: %w", e.Key, err)
	}
	defer leave()
	call := ingestion{ledger: l, nonce: l.nonce()}
	err = l.decide(ctx, "ingesting a report on "+string(e.Key), func(tries int) error {
		var err error
		receipt, messages, err = call.try(ctx, e, tries > 0)
		return err
	})
	return receipt, messages, err
}

// An ingestion is one call of Ingest, over all its tries.
type ingestion struct {
	ledger *Ledger
	nonce  string
	// receipt and messages are those of the commit that was tried last. Where its answer was lost, they are the ones that
	// count.
	receipt  Receipt
	messages []Message
}

func (c *ingestion) try(ctx context.Context, e operation.Event, again bool) (Receipt, []Message, error) {
	l := c.ledger
	paths := []Path{OperationPath(e.Key), deliveryPath(e.Key, e.Source, e.DeliveryID)}
	if again {
		// The race may have been lost to an effect that is already there.
		paths = append(paths, l.effectPaths(e.Key)...)
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return Receipt{}, nil, err
	}
	recordDoc, deliveryDoc, now := snapshot.Documents[0], snapshot.Documents[1], snapshot.ReadTime
	rec, err := readRecord(recordDoc)
	if err != nil {
		return Receipt{}, nil, err
	}
	var found correlation
	if !rec.Registered && e.CorrelationID != "" {
		if found.doc, found.intent, err = l.intent(ctx, e.CorrelationID); err != nil {
			return Receipt{}, nil, err
		}
		if key := found.intent.elsewhere(e.Key); key != "" {
			e.Key, e.CorrelationID = key, ""
			return c.try(ctx, e, again)
		}
	}
	duplicate, writer, err := takenIn(deliveryDoc, rec)
	switch {
	case err != nil:
		return Receipt{}, nil, err
	case writer == c.nonce: // our own commit, whose answer was lost
		return c.receipt, c.messages, nil
	case duplicate:
		return Receipt{Key: e.Key, Outcome: Duplicate, Registered: rec.Registered, State: rec.State}, nil, nil
	}

	writes := l.seen(found, e.CorrelationID, e.Key, now)
	bound := found.intent.Waiting()
	if bound {
		var write Write
		if rec, write, err = l.adopt(rec, found, e, now); err != nil {
			return Receipt{}, nil, err
		}
		writes = append(writes, write)
	}
	decision := operation.Reduce(rec, e, l.settings.Transitions)
	c.receipt = Receipt{Key: e.Key, Reason: decision.Reason, Registered: rec.Registered, State: rec.State, Bound: bound}
	c.messages = nil
	switch {
	case decision.Applied:
		c.receipt.Outcome = Applied
	case decision.Reason == operation.TerminalConflict:
		c.receipt.Outcome = Conflict
	default:
		c.receipt.Outcome = Dropped
	}
	delivery := Write{Path: deliveryDoc.Path, Token: deliveryDoc.Token, Data: l.delivery(e, c.receipt, c.nonce, now)}
	if !decision.Applied && !bound {
		if e.Source == operation.Reconcile && c.receipt.Outcome == Dropped {
			return c.receipt, nil, nil // every pass asks again: what did not change leaves no trace
		}
		// The drop stays right whatever happens to the record meanwhile, so it needs no precondition on it.
		return c.receipt, nil, l.store.Commit(ctx, append(writes, delivery)...)
	}

	if rec.Key == "" {
		rec = operation.Record{
			Key: e.Key, Collection: e.Key.Collection(), Name: e.Resource, CreatedAt: now, CorrelationID: e.CorrelationID,
		}
	}
	before := rec.State
	if decision.Applied {
		rec = operation.Apply(rec, e, now)
	}
	planned := plan{record: rec}
	if rec.State != before || bound {
		existing, err := readEffects(snapshot.Documents[2:])
		if err != nil {
			return Receipt{}, nil, err
		}
		if planned, err = l.plan(rec, existing, now); err != nil {
			return Receipt{}, nil, err
		}
	}
	rec, write := l.writeRecord(recordDoc, planned.record, now)
	c.receipt.State = rec.State
	c.receipt.Settled = rec.Settled() && rec.State != before
	c.receipt.Planned = len(planned.messages)
	c.receipt.Withheld = planned.withheld
	c.messages = planned.messages
	writes = append(append(writes, planned.writes...), write, delivery)
	if err := l.store.Commit(ctx, writes...); err != nil {
		return Receipt{}, nil, err
	}
	return c.receipt, c.messages, nil
}

// takenIn reports whether a delivery was taken in before, and by which call. One that is older than the operation's record
// outlived a former record, and says nothing about this one.
func takenIn(doc Document, rec operation.Record) (duplicate bool, writer string, err error) {
	var seen Delivery
	if err := doc.Decode(&seen); err != nil {
		return false, "", fmt.Errorf("reading %s: %w", doc.Path, err)
	}
	return doc.Exists() && !seen.ReceivedAt.Before(rec.CreatedAt), seen.Writer, nil
}

func (l *Ledger) delivery(e operation.Event, r Receipt, nonce string, now time.Time) Delivery {
	return Delivery{
		Schema: operation.SchemaVersion, ID: printable(e.DeliveryID), Source: e.Source, Type: e.Type, Name: e.Resource,
		State: e.State, UpdateTime: operation.Instant(e.UpdateTime), ReceivedAt: now,
		Outcome: r.Outcome, Reason: r.Reason, Writer: nonce, ExpireAt: now.Add(l.settings.Retention),
	}
}

// Permanent reports whether err is one that no retry mends, so that the report must be kept for a person instead of being
// sent again.
func Permanent(err error) bool { return errors.Is(err, ErrInvalid) }
