package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An IntentVerdict is what the submitter of an intent may do [G6].
type IntentVerdict string

const (
	// MaySubmit: create the operation, once and within SubmitWithin. The verdict is an attempt of
	// this caller's, and no other submits meanwhile.
	MaySubmit IntentVerdict = "submit"
	// MustWait: an earlier attempt may have created the operation. For a batch a pass that reads
	// Gemini's list decides it, from Intent.WaitUntil on. Where that is zero only an event or an
	// operator does.
	MustWait IntentVerdict = "wait"
	// IsBound: the operation exists, and is Intent.Operation.
	IsBound IntentVerdict = "bound"
)

// judge decides what the submitter of i may do with the intent that was read, and returns it as it is
// then, with the write of it, if any.
func (l *protocol) judge(i Intention, intent Intent, nonce string, read Snapshot) (Intent, *Write) {
	doc, leapt, now := read.Documents[0], read.Leapt, read.ReadTime
	attempt := intent.attempt()
	listable := intent.Collection == operation.Batches && i.Collection == operation.Batches
	changed, asked := intent, false
	changed.Verdict = MustWait
	switch {
	case intent.State == IntentBound:
		changed.Verdict = IsBound
		return changed, nil
	case !intent.Waiting():
		return changed, nil
	case attempt.ID == i.Attempt && now.Before(attempt.At.Add(SubmitWithin)):
		changed.Verdict = MaySubmit // a retry: the answer was lost
		return changed, nil
	case listable && !attempt.ListedAt.IsZero() && attempt.ListedAt.Before(l.settings.RestoredAt):
		// A later attempt may have been lost with the store: the list is read again, for an attempt of no caller.
		changed.State, changed.Writer = IntentOpen, nonce
		changed.RenewedAt, changed.AbandonedAt = operation.Instant(now), time.Time{}
		changed = changed.announced("")
	case listable && !attempt.ListedAt.IsZero():
		changed.Verdict, changed.State, changed.Writer = MaySubmit, IntentOpen, nonce
		changed.RenewedAt, changed.AbandonedAt = operation.Instant(now), time.Time{}
		changed = changed.announced(i.Attempt)
	case attempt.At.After(now.Add(attemptOver)): // the store's clock was set back
		changed = changed.attemptedBy(operation.Instant(now))
	default:
		// A search that has become rare, or is over, is made once more for the submitter that waits.
		asked = listable && intent.State == IntentAbandoned &&
			(intent.DueAt.IsZero() || intent.DueAt.After(now.Add(l.settings.Interval)))
		if !asked {
			return l.waiting(changed, listable, leapt, now), nil
		}
	}
	stored := l.nextIntent(changed, now)
	if asked {
		stored.DueAt, stored.ExpireAt = operation.Instant(now), time.Time{}
	}
	write := Write{Path: doc.Path, Token: doc.Token, Data: stored}
	if stored.Verdict == MustWait {
		stored = l.waiting(stored, listable, leapt, now)
	}
	return stored, &write
}

// waiting returns the intent with WaitUntil and WaitFor: a pass begins once the attempt is over, and
// takes up to an interval to come.
func (l *protocol) waiting(intent Intent, listable bool, leapt, now time.Time) Intent {
	if !listable {
		return intent
	}
	intent.WaitUntil = dueFrom(intent.attemptOver(leapt), now).Add(l.settings.Interval)
	intent.WaitFor = intent.WaitUntil.Sub(now).Round(time.Second)
	return intent
}

// attemptedBy returns the intent with its last attempt no later than at.
func (i Intent) attemptedBy(at time.Time) Intent {
	attempt := i.attempt()
	notAfter(at, &i.CreatedAt, &i.RenewedAt)
	i.Attempt = &IntentAttempt{ID: attempt.ID, At: i.AttemptedAt()}
	return i
}
