package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An Outcome is what became of an event, in words that answers, documents, logs and metrics share.
type Outcome string

// The outcomes of an event.
const (
	Applied   Outcome = "applied"   // the record changed
	Dropped   Outcome = "dropped"   // it has nothing new, or is older than what is known [M8]
	Duplicate Outcome = "duplicate" // the delivery was ingested before [W4]
	Conflict  Outcome = "conflict"  // a terminal state other than the one that stands [M5]
)

// A Receipt reports what Ingest did.
type Receipt struct {
	Key        operation.Key
	Outcome    Outcome
	Reason     operation.Reason // empty for a duplicate
	Registered bool             // whether the operation is registered
	State      operation.State  // of the record afterwards
	Settled    bool             // whether this event settled the operation
	After      time.Duration    // from its submission to that; zero where it is not registered
	Planned    int              // how many effects it planned
	Bound      bool             // whether it bound a waiting intent, and so registered the operation [G6]
	// Correlated: the event came under a name that Gemini did not issue, and was matched to Key by
	// its correlation id alone [K6].
	Correlated bool
	// Disputed is the operation that its submitter registered with the event's correlation id,
	// where the event names another one. The event counts for Key; Disputed is due at the next pass.
	Disputed operation.Key
	// Twin: the event is the first about a batch that has the id of a job's part, which has another batch. It is
	// counted, and never collected [J2].
	Twin bool
	// Withheld counts the effects that were not planned because the operation ended longer ago than
	// the retention when the ledger first received it. Its record names them [L3].
	Withheld int
	// CorrelationID is that of the operation; empty where it is not registered with one.
	CorrelationID string
	// TraceParent is the trace in which the operation was submitted.
	TraceParent operation.TraceParent
	// PublishErr is why a planned effect could not be published at once, for the log. Nothing is
	// lost: the sweep publishes it later.
	PublishErr error
}

// Ingest is the one way for an event to change an operation's state, from whichever path [M7]. When
// it returns without an error the decision is durable [W3].
//
// A delivery that was ingested before is a Duplicate and writes nothing [W4]. An event that the
// reducer drops leaves its delivery document and nothing else; a Conflict is recorded, too, and one
// that an operator has resolved is Dropped [M5]. One that it applies changes the record, leaves its
// delivery and plans the effects of the new state, in one commit; then their messages are
// published. An unknown operation becomes an unregistered record, which runs no effect [W5]. Where
// an intent waits for the event's correlation id, the commit registers the operation and binds the
// intent to it, whatever the reducer decides about the event itself [G6].
//
// An event may name another operation than the one that was registered with its correlation id. If
// Gemini did not issue that name, the event counts for the registered operation. Otherwise it
// counts for the one that it names, and the registered one becomes due in the same commit [K6].
//
// Errors: ErrContention, ErrUnavailable or the context's, after which the same event can be
// ingested again, by this process or another; ErrInvalid, which no retry fixes.
func (l Operations) Ingest(ctx context.Context, e operation.Event) (Receipt, error) {
	done, err := l.ingest(ctx, e)
	if err != nil {
		return Receipt{Key: e.Key}, err
	}
	done.receipt.PublishErr = l.send(ctx, done.messages)
	return done.receipt, nil
}

// ingest is Ingest up to the commit.
func (l *protocol) ingest(ctx context.Context, e operation.Event) (done ingested, err error) {
	unlock, err := l.ingests.lock(ctx, e.Key)
	if err != nil {
		return done, fmt.Errorf("waiting to ingest an event about %s: %w", e.Key, err)
	}
	unlock = sync.OnceFunc(unlock)
	defer unlock()
	call := ingestion{ledger: l, nonce: l.nonce(), unlock: unlock}
	err = l.retry(ctx, "ingesting an event about "+string(e.Key), func(tries int) (err error) {
		done, err = call.try(ctx, e, tries > 0)
		return err
	})
	return done, err
}

// An ingestion is one call of Ingest, over all its tries.
type ingestion struct {
	ledger *protocol
	nonce  string
	unlock func() // lets the next event about the operation go on
	// last is the result of the last commit that was tried. Where the commit's answer was lost, it
	// is the result of the call.
	last ingested
}

// An ingested is the result of one try.
type ingested struct {
	receipt  Receipt
	messages []Message
}

// try reads, decides, plans and commits.
func (c *ingestion) try(ctx context.Context, e operation.Event, again bool) (ingested, error) {
	e, at, err := c.find(ctx, e, again)
	if err != nil {
		return ingested{}, err
	}
	duplicate, writer, err := deduplicate(at.delivery, at.rec)
	switch {
	case err != nil:
		return ingested{}, err
	case writer == c.nonce: // our own commit, whose answer was lost
		return c.last, nil
	case duplicate:
		return ingested{receipt: Receipt{
			Key: e.Key, Outcome: Duplicate, Registered: at.rec.Registered, State: at.rec.State,
			CorrelationID: at.rec.CorrelationID, TraceParent: at.rec.TraceParent,
		}}, nil
	}
	d, err := c.decide(e, at)
	if err != nil {
		return ingested{receipt: d.receipt}, err
	}
	twin, err := c.twin(ctx, e, at)
	if err != nil {
		return ingested{}, err
	}
	if len(twin) > 0 {
		d.others, d.receipt.Twin, d.rec.CorrelationID = append(d.others, twin...), true, e.CorrelationID
	}
	if d.leavesNoTrace(e) {
		return ingested{receipt: d.receipt}, nil
	}
	var planned plan
	if d.changes() {
		if planned, err = c.plan(ctx, e, at, &d); err != nil {
			return ingested{}, err
		}
	}
	c.last = ingested{receipt: d.receipt, messages: planned.messages}
	return c.last, c.commit(ctx, e, at, d, planned)
}

// A reading is what one try has read from the store.
type reading struct {
	record, delivery Document
	rec              operation.Record
	effects          []Document  // only after a lost race
	correlation      correlation // zero where the operation is registered, or the event has no id
	correlated       bool        // the event came under another name, and is matched by its id
	now              time.Time
}

// find reads what the event may change. Where the event's correlation id leads to another
// operation, it returns the event as one about that operation.
func (c *ingestion) find(ctx context.Context, e operation.Event, again bool) (operation.Event, reading, error) {
	at, err := c.read(ctx, e, again)
	if err != nil {
		return e, reading{}, err
	}
	if key := at.correlation.intent.elsewhere(e.Key); key != "" {
		e.Key, e.CorrelationID = key, ""
		at, err = c.read(ctx, e, again)
		at.correlated = true
	}
	return e, at, err
}

func (c *ingestion) read(ctx context.Context, e operation.Event, again bool) (reading, error) {
	l := c.ledger
	paths := []Path{OperationPath(e.Key), deliveryPath(e.Key, e.Source, e.DeliveryID)}
	if again {
		// The race may have been lost to an effect document that exists already.
		paths = append(paths, l.effectPaths(e.Key)...)
	}
	snapshot, err := l.store.Get(ctx, paths...)
	if err != nil {
		return reading{}, err
	}
	at := reading{
		record: snapshot.Documents[0], delivery: snapshot.Documents[1], effects: snapshot.Documents[2:],
		now: snapshot.ReadTime,
	}
	if at.rec, err = l.readRecord(at.record); err != nil {
		return reading{}, err
	}
	if !at.rec.Registered && e.CorrelationID != "" {
		at.correlation.intent, at.correlation.doc, _, err = l.intent(ctx, e.CorrelationID)
	}
	return at, err
}

// A decision is what the event changes, before anything is planned or written.
type decision struct {
	applied bool
	rec     operation.Record // registered, where the event binds an intent
	others  []Write          // of the intent, and of the job
	receipt Receipt
}

// conflicts reports whether the event names another terminal state than the one that stands.
func (d decision) conflicts() bool { return d.receipt.Outcome == Conflict }

// changes reports whether the record changes.
func (d decision) changes() bool {
	return d.applied || d.receipt.Bound || d.receipt.Twin || d.conflicts()
}

// leavesNoTrace reports whether not even the delivery is written: every pass asks Gemini again, and
// the usual answer is that nothing has changed.
func (d decision) leavesNoTrace(e operation.Event) bool {
	return !d.changes() && e.Source == operation.Reconcile && d.receipt.Outcome == Dropped
}

// decide binds the intent that waits for the event, if one does, and reduces the event.
func (c *ingestion) decide(e operation.Event, at reading) (decision, error) {
	l := c.ledger
	d := decision{rec: at.rec, others: l.seen(at.correlation, e, at.now)}
	bound := at.correlation.intent.Waiting()
	if bound {
		rec, write, err := l.adopt(at.rec, at.correlation, e, at.now)
		if err != nil {
			return d, err
		}
		d.rec, d.others = rec, append(d.others, write)
	}
	reduced := operation.Reduce(d.rec, e, l.settings.Transitions)
	_, resolved := d.rec.Resolution(e.State)
	d.applied = reduced.Applied
	d.receipt = Receipt{
		Key: e.Key, Reason: reduced.Reason, Registered: d.rec.Registered, State: d.rec.State,
		Bound: bound, Correlated: at.correlated, Disputed: at.correlation.intent.registered(e.Key),
		CorrelationID: d.rec.CorrelationID, TraceParent: d.rec.TraceParent,
	}
	switch {
	case reduced.Applied:
		d.receipt.Outcome = Applied
	case reduced.Reason == operation.TerminalConflict && !resolved:
		d.receipt.Outcome = Conflict
	default:
		d.receipt.Outcome = Dropped
	}
	return d, nil
}

// plan applies the event to the record, and plans the effects of the state that it reaches.
func (c *ingestion) plan(ctx context.Context, e operation.Event, at reading, d *decision) (plan, error) {
	rec := d.rec
	if rec.Key == "" {
		rec = operation.Record{
			Key: e.Key, Collection: e.Key.Collection(), Name: e.Resource, CreatedAt: at.now,
			Submission:  operation.Submission{CorrelationID: e.CorrelationID},
			Incarnation: c.nonce,
		}
	}
	before := rec
	switch {
	case d.applied:
		rec = operation.Apply(rec, e, at.now)
	case d.conflicts():
		rec = operation.Refuse(rec, e, at.now)
	}
	planned := plan{record: rec}
	if rec.State != before.State || d.receipt.Bound {
		existing, err := readEffects(at.effects)
		if err != nil {
			return plan{}, err
		}
		if planned, err = c.ledger.plan(ctx, before, rec, existing, at.correlation.intent, at.now); err != nil {
			return plan{}, err
		}
	}
	d.receipt.State = rec.State
	if d.receipt.Settled = rec.Settled() && rec.State != before.State; d.receipt.Settled && rec.Registered {
		d.receipt.After = at.now.Sub(rec.Submitted())
	}
	d.receipt.Planned, d.receipt.Withheld = len(planned.messages), planned.withheld
	return planned, nil
}

// commit writes the delivery and what the event changes, in one commit.
func (c *ingestion) commit(ctx context.Context, e operation.Event, at reading, d decision, planned plan) error {
	l := c.ledger
	due, err := l.makeDueNow(ctx, d.receipt.Disputed)
	if err != nil {
		return err
	}
	writes := append(d.others, due...)
	// A dropped event stays dropped whatever happens to the record meanwhile, so that only its
	// delivery is written, without a precondition on the record.
	if d.changes() {
		_, write := l.writeRecord(at.record, planned.record, at.now)
		writes = append(append(writes, planned.writes...), write)
	}
	of := at.rec
	if d.changes() {
		of = planned.record
	}
	delivery := l.delivery(e, d.receipt, of, c.nonce, at.now)
	writes = append(writes, Write{Path: at.delivery.Path, Token: at.delivery.Token, Data: delivery})
	if len(writes) == 1 { // nothing that another event about the operation changes
		c.unlock()
	}
	return l.commit(ctx, writes...)
}

// Permanent reports whether err is one that no retry fixes.
func Permanent(err error) bool { return errors.Is(err, ErrInvalid) || errors.Is(err, ErrExists) }
