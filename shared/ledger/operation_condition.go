package ledger

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A Condition is why a look-up learned nothing, in the word that logs count; empty where it learned something.
type Condition string

// ConditionNotFound is the only one that says something about the operation: Gemini does not know its name [R4].
const ConditionNotFound Condition = "not-found"

// missingIntervals is for how many intervals an operation is not found before that is said aloud: a live one was seen to
// answer so for a while.
const missingIntervals = 12

// Noted says what NoteCondition found.
type Noted struct {
	// Missing: Gemini has not found the operation for so long that it should be said.
	Missing bool
	// Alert: it is time to say so aloud; nobody else will before AlertEvery has passed.
	Alert bool
	// Planned is how many effects say so; 0 where no rule asks for the alert. The log is the caller's.
	Planned int
	// PublishErr: as in Receipt.
	PublishErr error
}

// NoteCondition records what a look-up that learned nothing leaves behind, and with an empty trouble that one has learned something
// since. It writes only what changes: the usual pass, which meets the same trouble again or none, only reads one document. It
// never changes a state [M7], and leaves alone an operation that has ended, that nobody registered or that is not there.
//
// Not being found is not an end [R4]: it is noted, and from the twelfth interval on an alert is planned in the same commit,
// once in every AlertEvery; for an operation that a person abandoned it is only noted. Errors: as Ingest.
func (l *Ledger) NoteCondition(ctx context.Context, key operation.Key, trouble Condition) (Noted, error) {
	var last noting
	err := l.decide(ctx, "noting the trouble with "+string(key), func(int) error {
		return l.note(ctx, key, trouble, &last)
	})
	if err != nil {
		return Noted{}, err
	}
	last.noted.PublishErr = l.send(ctx, last.messages)
	return last.noted, nil
}

// A noting is what one call of NoteCondition tried last. Where the answer to its commit was lost, this is what counts.
type noting struct {
	record   operation.Record
	noted    Noted
	messages []Message
}

func (l *Ledger) note(ctx context.Context, key operation.Key, trouble Condition, last *noting) error {
	snapshot, err := l.store.Get(ctx, OperationPath(key))
	if err != nil {
		return err
	}
	doc, now := snapshot.Documents[0], snapshot.ReadTime
	before, err := readRecord(doc)
	if err != nil {
		return err
	}
	if doc.Exists() && reflect.DeepEqual(before, last.record) { // our own commit, whose answer was lost
		return nil
	}
	*last = noting{}
	if before.Settled() || !before.Registered {
		return nil
	}
	p := plan{record: before.WithoutCondition()}
	if trouble != "" {
		if p, last.noted, err = l.withCondition(ctx, before, trouble, now); err != nil {
			return err
		}
	}
	last.messages = p.messages
	if reflect.DeepEqual(p.record, before) {
		return nil
	}
	rec, write := l.writeRecord(doc, p.record, now)
	last.record = rec
	return l.store.Commit(ctx, append(p.writes, write)...)
}

// withCondition returns the record with the trouble in it, and the alert for which it is time.
func (l *Ledger) withCondition(ctx context.Context, rec operation.Record, trouble Condition, now time.Time) (plan, Noted, error) {
	if reason := shorten(string(trouble)); rec.Condition != reason {
		rec.Condition, rec.ConditionSince = reason, now
	}
	if trouble != ConditionNotFound {
		return plan{record: rec}, Noted{}, nil
	}
	if rec.MissingSince.IsZero() {
		rec.MissingSince = now
	}
	var noted Noted
	noted.Missing = now.Sub(rec.MissingSince) >= missingIntervals*l.settings.Interval
	noted.Alert = noted.Missing && rec.Abandoned == nil && now.Sub(rec.MissingAlertedAt) >= l.settings.AlertEvery
	if !noted.Alert {
		return plan{record: rec}, noted, nil
	}
	rec.MissingAlertedAt = now
	p, err := l.planAlert(ctx, rec, AlertMissing, Notice{
		Since:  rec.MissingSince,
		Detail: fmt.Sprintf("Gemini does not find %s; it is asked again", rec.Name),
	}, now)
	noted.Planned = len(p.messages)
	return p, noted, err
}
