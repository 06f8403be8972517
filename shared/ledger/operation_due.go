package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Now returns the store's time: a pass takes it as its start.
func (l *Ledger) Now(ctx context.Context) (time.Time, error) {
	snapshot, err := l.store.Get(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("asking the store for the time: %w", err)
	}
	return snapshot.ReadTime, nil
}

// A DueOperation is a pending operation that reconciliation should look up now.
type DueOperation struct {
	Record operation.Record
	doc    Document
}

// Name returns the operation's name, to ask the API with [K5].
func (d DueOperation) Name() operation.Name {
	return operation.Name{Key: d.Record.Key, Resource: d.Record.Name}
}

// DueOperations finds registered operations that wait for their end and whose time to be looked at has come by now, at most
// limit, behind after. Its cost grows with what is due, not with the ledger [L4].
func (l *Ledger) DueOperations(ctx context.Context, now time.Time, after Cursor, limit int) (Page[DueOperation], error) {
	return due(ctx, l.store, queryDue(OperationsCollection, now, after, limit), func(doc Document) (DueOperation, error) {
		rec, err := readRecord(doc)
		return DueOperation{Record: rec, doc: doc}, err
	})
}

// A DueEffect is a side effect that nobody works on although it could be run.
type DueEffect struct {
	Effect Effect
	doc    Document
}

// DueEffects finds side effects whose time to be looked at has come, at most limit, behind after, whatever the state of
// their operation [R5].
func (l *Ledger) DueEffects(ctx context.Context, now time.Time, after Cursor, limit int) (Page[DueEffect], error) {
	return due(ctx, l.store, queryDue(EffectsCollection, now, after, limit), func(doc Document) (DueEffect, error) {
		effect, err := readEffect(doc)
		return DueEffect{Effect: effect, doc: doc}, err
	})
}

// OpenEffects finds every effect that is open, due or not, at most limit, behind after, in due order.
func (l *Ledger) OpenEffects(ctx context.Context, after Cursor, limit int) (Page[DueEffect], error) {
	return due(ctx, l.store, queryOpen(EffectsCollection, after, limit), func(doc Document) (DueEffect, error) {
		effect, err := readEffect(doc)
		return DueEffect{Effect: effect, doc: doc}, err
	})
}

// due finds what a query is for.
func due[T any](ctx context.Context, store Store, q Query, read func(Document) (T, error)) (Page[T], error) {
	page, err := find(ctx, store, q, read)
	if err != nil {
		return page, fmt.Errorf("finding due %s: %w", q.Collection, err)
	}
	return page, nil
}

// waitingFactor is how many times rarer an operation is looked up that waits for its submitter, not for Gemini.
const waitingFactor = 12

// next returns when something that a pass looks at now is looked at again: one interval after the pass began, a tenth less
// so that the next pass finds it, and up to another tenth less so that not all fall due at once.
func (l *Ledger) next(passStart time.Time, intervals int) time.Time {
	return operation.Instant(passStart.Add(time.Duration(intervals)*l.settings.Interval - l.early()))
}

// early is how much sooner something falls due than after whole intervals: a tenth of one, and up
// to another.
func (l *Ledger) early() time.Duration {
	tenth := l.settings.Interval / 10
	return tenth + time.Duration(l.jitter()*float64(tenth))
}

// A Postponed says what Postpone found.
type Postponed struct {
	// Stuck: the operation has been pending for longer than it should [R4].
	Stuck bool
	// Alert: it is time to say so aloud; nobody else will before AlertEvery has passed.
	Alert bool
	// Planned is how many effects say so; 0 where no rule asks for the alert. The log is the caller's.
	Planned int
	// PublishErr: as in Receipt.
	PublishErr error
}

// Postpone takes an operation for the caller's pass, which began at passStart: it counts the attempt [R3] and moves the
// operation's due time on, so that an overlapping pass does not see it and a pass that dies costs one interval [R6]. What it
// finds pending for too long it says in the same commit, by planning the alert [R4]. ErrConflict: somebody else has just
// changed or taken it; leave it alone.
func (l *Ledger) Postpone(ctx context.Context, d DueOperation, passStart time.Time) (Postponed, error) {
	rec := d.Record
	rec.Attempts++
	intervals := 1
	if rec.State.Waiting() {
		intervals = waitingFactor
	}
	rec.DueAt = l.next(passStart, intervals)
	var p Postponed
	if p.Stuck = passStart.Sub(rec.SubmittedAt) > l.settings.StuckAfter; p.Stuck {
		if rec.StuckSince.IsZero() {
			rec.StuckSince = passStart
		}
		if p.Alert = passStart.Sub(rec.AlertedAt) >= l.settings.AlertEvery; p.Alert {
			rec.AlertedAt = passStart
		}
	}
	planned := plan{record: rec}
	if p.Alert {
		var err error
		notice := Notice{Since: rec.StuckSince, Detail: stuckDetail(rec)}
		if planned, err = l.planAlert(ctx, rec, AlertStuck, notice, passStart); err != nil {
			return Postponed{}, fmt.Errorf("taking %s for this pass: %w", rec.Key, err)
		}
	}
	_, write := l.writeRecord(d.doc, planned.record, passStart)
	if err := l.store.Commit(ctx, append(planned.writes, write)...); err != nil {
		return Postponed{}, fmt.Errorf("taking %s for this pass: %w", rec.Key, err)
	}
	p.Planned = len(planned.messages)
	p.PublishErr = l.send(ctx, planned.messages)
	return p, nil
}

func stuckDetail(rec operation.Record) string {
	detail := fmt.Sprintf("it was submitted at %s and is %s", rec.SubmittedAt.Format(time.RFC3339), rec.State)
	if rec.Condition != "" {
		detail += "; look-ups have learned nothing since " + rec.ConditionSince.Format(time.RFC3339) + ": " + rec.Condition
	}
	return detail
}
