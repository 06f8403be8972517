package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Now returns the store's time: a pass uses it as its start. The error is the store's.
func (l *Ledger) Now(ctx context.Context) (time.Time, error) {
	snapshot, err := l.store.Get(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the store's time: %w", err)
	}
	return snapshot.ReadTime, nil
}

// A DueOperation is a pending operation that reconciliation should look up now.
type DueOperation struct {
	Record operation.Record
	doc    Document
}

// Name returns the operation's name, for the API [K5].
func (d DueOperation) Name() operation.Name {
	return operation.Name{Key: d.Record.Key, Resource: d.Record.Name}
}

// DueOperations returns registered operations that have not ended and are due at now, at most
// limit, behind after. Its cost grows with what is due, not with the ledger [L4].
func (l *Ledger) DueOperations(
	ctx context.Context, now time.Time, after Cursor, limit int,
) (Page[DueOperation], error) {
	return due(ctx, l.store, queryDue(OperationsCollection, now, after, limit), func(doc Document) (DueOperation, error) {
		rec, err := readRecord(doc)
		return DueOperation{Record: rec, doc: doc}, err
	})
}

// due runs a query for due documents.
func due[T any](ctx context.Context, store Store, q Query, read func(Document) (T, error)) (Page[T], error) {
	page, err := find(ctx, store, q, read)
	if err != nil {
		return page, fmt.Errorf("finding due %s: %w", q.Collection, err)
	}
	return page, nil
}

// waitingFactor is how many times more rarely an operation is looked up that waits for its
// submitter, not for Gemini.
const waitingFactor = 12

// next returns when a document that this pass processes is due again: so many intervals after the
// pass began, less a tenth of one, so that the next pass finds it, and less up to another tenth at
// random, so that not all are due at once.
func (l *Ledger) next(passStart time.Time, intervals int) time.Time {
	return operation.Instant(passStart.Add(time.Duration(intervals)*l.settings.Interval - l.early()))
}

// early is how much sooner a document is due than after whole intervals: between one and two tenths
// of an interval.
func (l *Ledger) early() time.Duration {
	tenth := l.settings.Interval / 10
	return tenth + time.Duration(l.jitter()*float64(tenth))
}

// A Postponed is the result of Postpone.
type Postponed struct {
	// Stuck: the operation has been pending for longer than StuckAfter [R4].
	Stuck bool
	// Alert: the alert is due now, and only this call returns it; the next one is due after
	// AlertEvery.
	Alert bool
	// Planned is how many effects alert of it; 0 where no rule lists the alert. The caller logs it.
	Planned int
	// PublishErr: as in Receipt.
	PublishErr error
}

// Postpone claims an operation for the pass that began at passStart. It counts the look-up [R3] and
// moves the due time, so that an overlapping pass does not find the operation, and a pass that dies
// costs one interval [R6]. Where the operation is stuck, the alert is planned in the same commit
// [R4]. ErrConflict: another call has changed or claimed it; leave it alone.
func (l *Ledger) Postpone(ctx context.Context, d DueOperation, passStart time.Time) (Postponed, error) {
	rec := d.Record
	rec.Attempts++
	intervals := 1
	if rec.State.Waiting() {
		intervals = waitingFactor
	}
	rec.DueAt = l.next(passStart, intervals)
	var p Postponed
	rec, p.Stuck, p.Alert = l.withStuck(rec, passStart)
	planned := plan{record: rec}
	if p.Alert {
		var err error
		notice := Notice{Since: rec.StuckSince, Detail: stuckDetail(rec)}
		if planned, err = l.planAlert(ctx, rec, AlertStuck, notice, passStart); err != nil {
			return Postponed{}, fmt.Errorf("claiming %s for this pass: %w", rec.Key, err)
		}
	}
	_, write := l.writeRecord(d.doc, planned.record, passStart)
	if err := l.commit(ctx, append(planned.writes, write)...); err != nil {
		return Postponed{}, fmt.Errorf("claiming %s for this pass: %w", rec.Key, err)
	}
	p.Planned = len(planned.messages)
	p.PublishErr = l.send(ctx, planned.messages)
	return p, nil
}
