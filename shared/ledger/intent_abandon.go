package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// Overdue reports whether an OPEN intent is to be given up at now, unless its operation is found.
func (i Intent) Overdue(now time.Time) bool { return i.State == IntentOpen && !now.Before(i.GiveUpAt) }

// GiveUpAnyway is how long after its submitter's last attempt an intent is given up even though it
// is uncertain whether anything was submitted.
func (l Intents) GiveUpAnyway() time.Duration { return 2 * l.settings.StuckAfter }

// Abandon ends the waiting for an intent's operation, for a pass that began at now. It is
// still searched for during SearchFor, where it can be listed, and its names are looked up once
// more at least. An operation that shows up later is bound all the same. The alert is planned in the
// same commit, once for each time that the intent is given up [R4]; detail is its text.
//
// ErrConflict: the intent has changed since it was found; leave it alone, and nothing is alerted.
// Other errors: as Ingest, and the intent may still be due.
func (l Intents) Abandon(ctx context.Context, d DueIntent, now time.Time, detail string) (Alerted, error) {
	intent := d.Intent
	intent.State, intent.AbandonedAt, intent.Writer = IntentAbandoned, operation.Instant(now), l.nonce()
	var p plan
	err := l.retry(ctx, fmt.Sprintf("abandoning the intent %q", intent.CorrelationID), func(tries int) error {
		if tries > 0 {
			found, doc, _, err := l.intent(ctx, intent.CorrelationID)
			if err != nil || found.Writer == intent.Writer && found.State == IntentAbandoned {
				return err
			}
			if doc.Token != d.doc.Token {
				return errChanged
			}
		}
		var err error
		if p, err = l.planUnbound(ctx, intent, detail); err != nil {
			return err
		}
		return l.commit(ctx, append(p.writes, l.writeAbandoned(d.doc, intent, now))...)
	})
	if err != nil {
		return Alerted{}, err
	}
	return l.alerted(ctx, p), nil
}

// planUnbound plans the alert that an intent was given up.
func (l *protocol) planUnbound(ctx context.Context, intent Intent, detail string) (plan, error) {
	if len(l.listing(AlertUnbound, "")) == 0 {
		return plan{}, nil
	}
	subject, err := subjectKey(IntentSubject(intent.CorrelationID))
	if err != nil {
		return plan{}, err
	}
	found, err := l.alertsAbout(ctx, subject)
	if err != nil {
		return plan{}, err
	}
	number, _ := lastAbout(found, AlertUnbound, intent.AbandonedAt)
	notice := Notice{Since: intent.AttemptedAt(), Detail: detail}
	return l.planAbout(subject, AlertUnbound, number+1, notice, intent.AbandonedAt)
}

// IntentSubject returns the subject of the alerts about an intent.
func IntentSubject(correlationID string) operation.Key {
	return operation.Key("intents/" + correlationID)
}

// AbandonBy ends the waiting for an intent's operation, on an operator's decision: no alert
// reports it. As after [Intents.Abandon] it is still searched for, and bound where it shows
// up. An intent that a pass gave up gets the decision, too. It returns the decision that stands: of
// several since the last attempt to submit the first. Calling it again is safe.
//
// Errors: ErrNoIntent; ErrIntentInUse where its operation is known; ErrNoReason; ErrPart, where a job needs
// it; else as Ingest.
func (l Intents) AbandonBy(ctx context.Context, correlationID string, a Decision) (operation.Decided, error) {
	var stands operation.Decided
	err := l.retry(ctx, fmt.Sprintf("abandoning the intent %q", correlationID), func(int) error {
		intent, doc, read, err := l.intent(ctx, correlationID)
		if err != nil {
			return err
		}
		decided := false
		stands, decided = intent.Decision()
		switch {
		case a.Why == "":
			return ErrNoReason
		case !doc.Exists():
			return ErrNoIntent
		case decided: // before, perhaps by this call, whose answer was lost
			return nil
		case !intent.Waiting():
			return fmt.Errorf("%w: %s", ErrIntentInUse, intent.Operation)
		}
		if err := l.unneeded(ctx, correlationID, ErrPart); err != nil {
			return err
		}
		intent.Abandoned = a.at(read.ReadTime)
		stands = *intent.Abandoned
		if intent.State == IntentOpen {
			intent.State, intent.AbandonedAt = IntentAbandoned, stands.At
		}
		intent.Writer = l.nonce()
		return l.commit(ctx, l.writeAbandoned(doc, intent, read.ReadTime))
	})
	return stands, err
}

// Decision returns the operator's decision to end the waiting; false where there is none since the
// submitter's last attempt.
func (i Intent) Decision() (operation.Decided, bool) {
	if i.Abandoned == nil || i.Abandoned.At.Before(i.AttemptedAt()) {
		return operation.Decided{}, false
	}
	return *i.Abandoned, true
}

// writeAbandoned returns the write of an intent that is given up. Its names are looked up once more:
// no pass may have come while they were to be.
func (l *protocol) writeAbandoned(doc Document, intent Intent, now time.Time) Write {
	intent = l.nextIntent(intent, now)
	if len(intent.Names) > 0 {
		intent = intent.prolonged(now)
	}
	return Write{Path: doc.Path, Token: doc.Token, Data: intent}
}
