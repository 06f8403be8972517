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
	// Correlated: it came under a name that Gemini did not issue, and was believed to be about Key
	// by its correlation id alone [K6].
	Correlated bool
	// Disputed is the operation that its submitter registered with the event's correlation id,
	// where the event names another: it is asked about at the next pass, and the event is about
	// Key.
	Disputed operation.Key
	// Withheld is how many effects were not planned, because the operation had ended so long before
	// the ledger first heard of it. Its record names them [L3].
	Withheld int
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
// An event under another name than the operation that was registered with its correlation id is about
// that operation only where Gemini did not issue the name. Otherwise it is about the operation that it
// names, and the registered one becomes due in the same commit, so that Gemini is asked [K6].
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

// A reading is what one try of an ingestion has found in the store.
type reading struct {
	record, delivery Document
	rec              operation.Record
	effects          []Document  // only in a second try
	correlation      correlation // zero where the operation is registered, or the event has no id
	correlated       bool        // the event came under another name, and is believed by its id
	now              time.Time
}

func (c *ingestion) try(ctx context.Context, e operation.Event, again bool) (Receipt, []Message, error) {
	at, err := c.read(ctx, e, again)
	if err != nil {
		return Receipt{}, nil, err
	}
	if key := at.correlation.intent.elsewhere(e.Key); key != "" {
		e.Key, e.CorrelationID = key, ""
		if at, err = c.read(ctx, e, again); err != nil {
			return Receipt{}, nil, err
		}
		at.correlated = true
	}
	duplicate, writer, err := deduplicate(at.delivery, at.rec)
	switch {
	case err != nil:
		return Receipt{}, nil, err
	case writer == c.nonce: // our own commit, whose answer was lost
		return c.receipt, c.messages, nil
	case duplicate:
		return Receipt{Key: e.Key, Outcome: Duplicate, Registered: at.rec.Registered, State: at.rec.State}, nil, nil
	}
	return c.decide(ctx, e, at)
}

// read reads what the event may change, and what is known of its correlation id.
func (c *ingestion) read(ctx context.Context, e operation.Event, again bool) (reading, error) {
	l := c.ledger
	paths := []Path{OperationPath(e.Key), deliveryPath(e.Key, e.Source, e.DeliveryID)}
	if again {
		// The race may have been lost to an effect that is already there.
		paths = append(paths, l.effectPaths(e.Key)...)
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return reading{}, err
	}
	at := reading{
		record: snapshot.Documents[0], delivery: snapshot.Documents[1], effects: snapshot.Documents[2:], now: snapshot.ReadTime,
	}
	if at.rec, err = readRecord(at.record); err != nil {
		return reading{}, err
	}
	if !at.rec.Registered && e.CorrelationID != "" {
		at.correlation.doc, at.correlation.intent, err = l.intent(ctx, e.CorrelationID)
	}
	return at, err
}

// decide reduces the event, and commits what follows.
func (c *ingestion) decide(ctx context.Context, e operation.Event, at reading) (Receipt, []Message, error) {
	l, rec := c.ledger, at.rec
	writes := l.seen(at.correlation, e, at.now)
	bound := at.correlation.intent.Waiting()
	if bound {
		var write Write
		var err error
		if rec, write, err = l.adopt(rec, at.correlation, e, at.now); err != nil {
			return Receipt{}, nil, err
		}
		writes = append(writes, write)
	}
	decision := operation.Reduce(rec, e, l.settings.Transitions)
	c.receipt = Receipt{
		Key: e.Key, Reason: decision.Reason, Registered: rec.Registered, State: rec.State, Bound: bound, Correlated: at.correlated,
		Disputed: at.correlation.intent.disputed(e.Key),
	}
	c.messages = nil
	switch {
	case decision.Applied:
		c.receipt.Outcome = Applied
	case decision.Reason == operation.TerminalConflict:
		c.receipt.Outcome = Conflict
	default:
		c.receipt.Outcome = Dropped
	}
	if !decision.Applied && !bound && e.Source == operation.Reconcile && c.receipt.Outcome == Dropped {
		return c.receipt, nil, nil // every pass asks again: what did not change leaves no trace
	}
	hastened, err := l.makeDueNow(ctx, c.receipt.Disputed)
	if err != nil {
		return Receipt{}, nil, err
	}
	writes = append(writes, hastened...)
	delivery := Write{Path: at.delivery.Path, Token: at.delivery.Token, Data: l.delivery(e, c.receipt, c.nonce, at.now)}
	if !decision.Applied && !bound {
		// The drop stays right whatever happens to the record meanwhile, so it needs no precondition on it.
		return c.receipt, nil, l.store.Commit(ctx, append(writes, delivery)...)
	}
	changed, err := c.apply(ctx, e, at, rec, decision)
	if err != nil {
		return Receipt{}, nil, err
	}
	if err := l.store.Commit(ctx, append(append(writes, changed...), delivery)...); err != nil {
		return Receipt{}, nil, err
	}
	return c.receipt, c.messages, nil
}

// apply returns the writes of the record, as the event leaves it, and of the effects that are
// planned for it.
func (c *ingestion) apply(
	ctx context.Context, e operation.Event, at reading, rec operation.Record, decision operation.Decision,
) ([]Write, error) {
	l := c.ledger
	if rec.Key == "" {
		rec = operation.Record{
			Key: e.Key, Collection: e.Key.Collection(), Name: e.Resource, CreatedAt: at.now, CorrelationID: e.CorrelationID,
		}
	}
	before := rec.State
	if decision.Applied {
		rec = operation.Apply(rec, e, at.now)
	}
	planned := plan{record: rec}
	if rec.State != before || c.receipt.Bound {
		existing, err := readEffects(at.effects)
		if err != nil {
			return nil, err
		}
		if planned, err = l.plan(ctx, rec, existing, at.correlation.intent, at.now); err != nil {
			return nil, err
		}
	}
	rec, write := l.writeRecord(at.record, planned.record, at.now)
	c.receipt.State = rec.State
	c.receipt.Settled = rec.Settled() && rec.State != before
	c.receipt.Planned = len(planned.messages)
	c.receipt.Withheld = planned.withheld
	c.messages = planned.messages
	return append(planned.writes, write), nil
}

// deduplicate reports whether a delivery was taken in before, and by which call. One that is older than the operation's record
// outlived a former record, and says nothing about this one.
func deduplicate(doc Document, rec operation.Record) (duplicate bool, writer string, err error) {
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
func Permanent(err error) bool { return errors.Is(err, ErrInvalid) || errors.Is(err, ErrExists) }
