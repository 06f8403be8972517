package ledger

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Now returns the store's time: a pass uses it as its start. The error is the store's.
func (l *Ledger) Now(ctx context.Context) (time.Time, error) { return l.now(ctx) }

// Now is [Ledger.Now].
func (r Reading) Now(ctx context.Context) (time.Time, error) { return r.Passes.now(ctx) }

func (l *protocol) now(ctx context.Context) (time.Time, error) {
	snapshot, err := l.store.Get(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("reading the store's time: %w", err)
	}
	return snapshot.ReadTime, nil
}

// A DueOperation is a pending operation that reconciliation should look up now.
type DueOperation struct {
	Record operation.Record
	// DefersAlert: its claim plans no alert, because Gemini is asked first. AlertStuck plans it then.
	DefersAlert bool
	doc         Document
	// marked: its next look-up may be later than after one interval, since a mark of the pass says so.
	marked bool
	// widen: the look-ups of old operations are widened.
	widen bool
	// leapt is when the store's clock leapt last; see Snapshot.
	leapt time.Time
	// passStart is the start of the pass that claimed it; zero before that.
	passStart time.Time
}

// Name returns the operation's name, for the API [K5].
func (d DueOperation) Name() operation.Name {
	return operation.Name{Key: d.Record.Key, Resource: d.Record.Name}
}

// Due returns registered operations that have not ended and are due at now, at most limit, behind
// after. Its cost grows with the number of due operations, not with the ledger [L4].
func (l Operations) Due(
	ctx context.Context, now time.Time, after Cursor, limit int,
) (Page[DueOperation], error) {
	q := queryDue(OperationsCollection, now, after, limit)
	return find(ctx, l.store, "finding due operations", q, func(doc Document) (DueOperation, error) {
		rec, err := l.readRecord(doc)
		return DueOperation{Record: rec, doc: doc}, err
	})
}

// waitingFactor is the number of intervals between look-ups of an operation that waits for its
// submitter, not for Gemini.
const waitingFactor = 12

// lookUpParts divides an operation's age: with widen, a twelfth of it passes between look-ups.
const lookUpParts = 12

// nextLookUp returns when an operation that a pass looks up is due again: one interval after the pass
// began. It is later only if the operation is marked, is no job, has no condition, and is not being
// cancelled [R6]:
//
//   - 12 intervals while it waits for its submitter
//   - with widen, a twelfth of its age: at least an interval, at most LookupMaxInterval
//
// It is never later than the next stuck alert, but never sooner than one interval: a pass finds the
// operation then in any case.
func (l *protocol) nextLookUp(d DueOperation, passStart time.Time) time.Time {
	rec, wait := d.Record, l.settings.Interval
	switch {
	case !d.marked || rec.HasCondition() || rec.CancelRequested != nil || rec.Collection == operation.Jobs:
	case rec.State.Waiting():
		wait *= waitingFactor
	case d.widen:
		wait = min(max(wait, passStart.Sub(rec.Submitted())/lookUpParts), l.settings.LookupMaxInterval)
	}
	soonest, due := l.nextAfter(passStart, l.settings.Interval), l.nextAfter(passStart, wait)
	return operation.Later(soonest, operation.Earlier(due, l.nextStuck(rec)))
}

// next returns when a document that this pass processes is due again: intervals after the pass began,
// less a tenth of one, so that the next pass finds it. Up to another tenth is taken off at random, so
// that not all documents are due at once.
func (l *protocol) next(passStart time.Time, intervals int) time.Time {
	return l.nextAfter(passStart, time.Duration(intervals)*l.settings.Interval)
}

// nextAfter is next for any wait.
func (l *protocol) nextAfter(passStart time.Time, wait time.Duration) time.Time {
	return operation.Instant(passStart.Add(wait - l.early()))
}

// early is how much sooner a document is due than after whole intervals: between one and two tenths
// of an interval.
func (l *protocol) early() time.Duration {
	tenth := l.settings.Interval / 10
	return tenth + time.Duration(l.jitter()*float64(tenth))
}

// A LookUpClaim is the result of ClaimLookUp.
type LookUpClaim struct {
	// Operation is the operation as it is now, to be passed to IngestAnswer and RecordAnswer.
	Operation DueOperation
	// Stuck: the operation has been pending for longer than its StuckAfter [R4].
	Stuck bool
	// Alert: the alert is due now, and only this call returns it; the next one is due after
	// AlertEvery.
	Alert bool
	// Planned is how many effects alert of it; 0 where no rule lists the alert. The caller logs it.
	Planned int
	// PublishErr: as in Receipt.
	PublishErr error
}

// ClaimLookUp claims an operation for the pass that began at passStart. It counts the look-up [R3]
// and moves the due time, so that an overlapping pass does not find the operation. The move is one
// write on the version that the query found. The record is read again only after a conflict or a lost
// answer; of a job the plan is always read, for its last step. A call recognizes its own move by the
// due time, which no other call writes. If the operation is stuck and not DefersAlert, the alert is
// planned in the same commit [R4].
//
// Errors: ErrConflict if the operation is no longer due: another pass has claimed it, or it has
// ended; otherwise as Ingest.
func (l Passes) ClaimLookUp(ctx context.Context, d DueOperation, passStart time.Time) (LookUpClaim, error) {
	m := move{ledger: l.protocol, passStart: passStart, found: d}
	err := l.retry(ctx, "claiming "+string(d.Record.Key)+" for this pass", func(tries int) error {
		if tries == 0 {
			return m.try(ctx, d)
		}
		return m.again(ctx)
	})
	if err != nil {
		return LookUpClaim{}, err
	}
	m.result.Planned = len(m.messages)
	m.result.PublishErr = l.send(ctx, m.messages)
	return m.result, nil
}

// AlertStuck plans the alert that an operation is stuck. The caller is the pass that claimed it with
// DefersAlert, and has asked Gemini since. It counts no look-up.
//
// Errors: ErrConflict if the operation was changed since its claim: the next look-up alerts, an
// interval later; otherwise as Ingest.
func (l Passes) AlertStuck(ctx context.Context, claimed DueOperation) (LookUpClaim, error) {
	claimed.DefersAlert = false
	return l.ClaimLookUp(ctx, claimed, claimed.passStart)
}

// A move is one call of ClaimLookUp, over all its tries. result and messages are those of the last
// commit that was tried.
type move struct {
	ledger    *protocol
	passStart time.Time
	found     DueOperation
	result    LookUpClaim
	messages  []Message
}

// try moves the operation as it was read in d.
func (m *move) try(ctx context.Context, d DueOperation) error {
	l := m.ledger
	m.result, m.messages = LookUpClaim{}, nil
	if err := l.stepped(ctx, &d.Record); err != nil {
		return err
	}
	if d.passStart.IsZero() {
		d.Record.LookUps++
	}
	rec := d.Record
	if !m.found.DefersAlert {
		rec, m.result.Stuck, m.result.Alert = l.withStuck(d, m.passStart)
	}
	d.Record = rec
	rec.DueAt = l.nextLookUp(d, m.passStart).Add(-l.unique())
	planned := plan{record: rec}
	if m.result.Alert {
		var err error
		notice := Notice{Since: rec.StuckSince, Detail: stuckDetail(rec)}
		if planned, err = l.planAlert(ctx, rec, AlertStuck, notice, nil, m.passStart); err != nil {
			return err
		}
	}
	rec, write := l.writeRecord(d.doc, planned.record, m.passStart)
	m.messages = planned.messages
	m.result.Operation = d
	m.result.Operation.Record, m.result.Operation.passStart = rec, m.passStart
	tokens, err := l.store.Commit(ctx, append(planned.writes, write)...)
	if err == nil {
		m.result.Operation.doc.Token = tokens[len(tokens)-1]
	}
	return err
}

// unique is a random time of at most a second, by which a call whose answer was lost recognizes its
// own move.
func (l *protocol) unique() time.Duration {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(l.nonce())) // a hash returns no error
	return time.Duration(hash.Sum64()%uint64(time.Second/time.Microsecond)) * time.Microsecond
}

// claimed reports whether this pass has claimed the operation before, and none has moved it since.
func (m *move) claimed(rec operation.Record) bool {
	return !m.found.passStart.IsZero() && rec.DueAt.Equal(m.found.Record.DueAt) && rec.LookUps == m.found.Record.LookUps
}

// again reads the operation after a commit that failed or was not answered. If the move was made, it
// is done. Otherwise a delivery changed the operation, and it is moved if it is still due.
func (m *move) again(ctx context.Context) error {
	rec, doc, _, err := m.ledger.record(ctx, m.found.Record.Key)
	made := m.result.Operation.Record
	switch {
	case err != nil:
		return err
	case made.Key != "" && rec.DueAt.Equal(made.DueAt) && rec.LookUps == made.LookUps:
		m.result.Operation.Record, m.result.Operation.doc = rec, doc
		return nil
	case rec.DueAt.IsZero() || rec.DueAt.After(m.passStart) && !m.claimed(rec):
		return errChanged // it is not due any more
	}
	// The mark counts for the attempt that the query found alone.
	d := m.found
	d.Record, d.doc, d.marked = rec, doc, d.marked && rec.LookUps == d.Record.LookUps
	return m.try(ctx, d)
}
