package ledger

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Condition is why a look-up was inconclusive, in the word that logs count; empty where it was
// not.
type Condition string

// ConditionNotFound is the only condition that is about the operation: Gemini does not know its
// name [R4].
const ConditionNotFound Condition = "not-found"

// missingIntervals is for how many intervals an operation is not found before an alert:
// Gemini was seen not to find a live one for a while.
const missingIntervals = 12

// Recorded is the result of RecordCondition.
type Recorded struct {
	// Missing: Gemini has not found the operation for missingIntervals.
	Missing bool
	// Alert: the alert is due now, and only this call returns it; the next one is due after
	// AlertEvery.
	Alert bool
	// Planned is how many effects alert of it; 0 where no rule lists the alert. The caller logs it.
	Planned int
	// PublishErr: as in Receipt.
	PublishErr error
}

// withStuck returns a pending record as a pass finds it at now: stuck if its PendingSince is longer ago
// than its StuckAfter, and alert if that is to be alerted now, which is once in every AlertEvery [R4].
//
// For as long after the store's clock leapt it is not stuck, because its age is not known.
func (l *protocol) withStuck(d DueOperation, now time.Time) (_ operation.Record, stuck, alert bool) {
	rec := d.Record
	after := l.settings.stuckAfter(rec.Collection)
	if now.Sub(rec.PendingSince()) <= after || !steady(d.leapt, now, after) {
		return rec, false, false
	}
	if rec.StuckSince.IsZero() {
		rec.StuckSince = now
	}
	if alert = now.Sub(rec.AlertedAt) >= l.settings.AlertEvery; alert {
		rec.AlertedAt = now
	}
	return rec, true, alert
}

// StuckAlertDue reports whether a pass that began at passStart is to alert that the operation is stuck.
func (l Passes) StuckAlertDue(d DueOperation, passStart time.Time) bool {
	_, _, alert := l.withStuck(d, passStart)
	return alert
}

// nextStuck returns when a pass is to alert next that the operation is stuck.
func (l *protocol) nextStuck(rec operation.Record) time.Time {
	if rec.AlertedAt.IsZero() {
		after := l.settings.stuckAfter(rec.Collection) + time.Microsecond // longer than StuckAfter
		return operation.Instant(rec.PendingSince().Add(after))
	}
	return operation.Instant(rec.AlertedAt.Add(l.settings.AlertEvery))
}

func stuckDetail(rec operation.Record) string {
	detail := fmt.Sprintf("it was submitted at %s and is %s", rec.Submitted().Format(time.RFC3339), rec.State)
	if !rec.SteppedAt.IsZero() {
		detail += "; its last step was at " + rec.SteppedAt.Format(time.RFC3339)
	}
	if rec.Condition != "" {
		detail += "; look-ups have been inconclusive since " + rec.ConditionSince.Format(time.RFC3339) + ": " + rec.Condition
	}
	return detail
}

// RecordCondition records why a look-up was inconclusive; an empty condition records that one was
// not. It writes only what changes, and reads one document. It never changes a state [M7]. It ignores
// an operation that has ended, is not registered or does not exist.
//
// After an inconclusive look-up the operation is due again within an interval [R6]. Not being found
// is no terminal state [R4]. From the twelfth interval on an alert is planned in the same commit,
// once in every AlertEvery; for an abandoned operation the condition is only recorded. Errors: as
// Ingest.
func (l Operations) RecordCondition(ctx context.Context, key operation.Key, condition Condition) (Recorded, error) {
	return l.retryCondition(ctx, key, condition,
		func(last *recording) error { return l.recordCondition(ctx, key, condition, last) })
}

// retryCondition records a condition; first is its first try, which may know more than later ones.
func (l *protocol) retryCondition(
	ctx context.Context, key operation.Key, condition Condition, first func(*recording) error,
) (Recorded, error) {
	var last recording
	err := l.retry(ctx, "recording the condition of "+string(key), func(tries int) error {
		if tries == 0 {
			return first(&last)
		}
		return l.recordCondition(ctx, key, condition, &last)
	})
	if err != nil {
		return Recorded{}, err
	}
	last.result.PublishErr = l.send(ctx, last.messages)
	return last.result, nil
}

// A recording is the last try of a RecordCondition. Where its commit's answer was lost, it is the
// result.
type recording struct {
	record   operation.Record
	result   Recorded
	messages []Message
}

func (l *protocol) recordCondition(ctx context.Context, key operation.Key, condition Condition, last *recording) error {
	before, doc, snapshot, err := l.record(ctx, key)
	if err != nil {
		return err
	}
	if doc.Exists() && reflect.DeepEqual(before, last.record) { // our own commit, whose answer was lost
		return nil
	}
	return l.recordOn(ctx, doc, before, condition, snapshot, last)
}

// recordOn records the condition on the record as it was read.
func (l *protocol) recordOn(
	ctx context.Context, doc Document, before operation.Record, condition Condition, read Snapshot, last *recording,
) error {
	*last = recording{}
	if before.Settled() || !before.Registered {
		return nil
	}
	p := plan{record: before.WithoutCondition()}
	if condition != "" {
		var err error
		if p, last.result, err = l.withCondition(ctx, before, condition, read); err != nil {
			return err
		}
	}
	last.messages = p.messages
	if reflect.DeepEqual(p.record, before) {
		return nil
	}
	rec, write := l.writeRecord(doc, p.record, read.ReadTime)
	last.record = rec
	return l.commit(ctx, append(p.writes, write)...)
}

// withCondition returns the record with the condition in it, and the alert that is due.
func (l *protocol) withCondition(
	ctx context.Context, rec operation.Record, condition Condition, read Snapshot,
) (plan, Recorded, error) {
	now := read.ReadTime
	if reason := shorten(string(condition)); rec.Condition != reason {
		rec.Condition, rec.ConditionSince = reason, now
	}
	if rec.DueAt.After(now.Add(l.settings.Interval)) {
		rec.DueAt = l.next(now, 1)
	}
	if condition != ConditionNotFound {
		return plan{record: rec}, Recorded{}, nil
	}
	if rec.MissingSince.IsZero() {
		rec.MissingSince = now
	}
	var result Recorded
	result.Missing = read.since(rec.MissingSince) >= missingIntervals*l.settings.Interval
	result.Alert = result.Missing && rec.Abandoned == nil && now.Sub(rec.MissingAlertedAt) >= l.settings.AlertEvery
	if !result.Alert {
		return plan{record: rec}, result, nil
	}
	rec.MissingAlertedAt = now
	p, err := l.planAlert(ctx, rec, AlertMissing, Notice{
		Since:  rec.MissingSince,
		Detail: fmt.Sprintf("Gemini does not find %s; it is looked up again", rec.Name),
	}, nil, now)
	result.Planned = len(p.messages)
	return p, result, err
}
