package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// An IntentAttempt is one announced submission of an intent's operation.
type IntentAttempt struct {
	// ID is the submitter's own, or made by the ledger. It differs from attempt to attempt.
	ID string    `json:"id" firestore:"id"`
	At time.Time `json:"at" firestore:"at"` // as AttemptedAt
	// ListedAt is when a pass began that read Gemini's list to its end and found no operation of the
	// intent there. It is stored only where the attempt was over by then.
	ListedAt time.Time `json:"listedAt,omitzero" firestore:"listedAt,omitempty"`
}

const (
	// SubmitWithin is how long the verdict MaySubmit holds, from the submitter's request for it: the
	// request that creates the operation is sent by then, or not at all.
	SubmitWithin = 2 * time.Minute
	// attemptOver is the age of an attempt from which on Gemini's list shows the operation, if it was
	// created: SubmitWithin, and time for Gemini to finish the request and to list the operation.
	attemptOver = 5 * time.Minute
)

// attempt returns the submission that was last announced, without an ID where an older revision
// announced it.
func (i Intent) attempt() IntentAttempt {
	if at := i.AttemptedAt(); i.Attempt == nil || !i.Attempt.At.Equal(at) {
		return IntentAttempt{At: at}
	}
	return *i.Attempt
}

// Unlisted returns the ListedAt of a waiting intent's last attempt; zero: it has none. Once it has one, a
// submitter may submit again, because Gemini's list did not have the operation.
func (i Intent) Unlisted() time.Time {
	if !i.Waiting() {
		return time.Time{}
	}
	return i.attempt().ListedAt
}

// announced returns the intent with a new attempt at its AttemptedAt.
func (i Intent) announced(id string) Intent {
	i.Attempt = &IntentAttempt{ID: id, At: i.AttemptedAt()}
	return i
}

// ToList reports whether a pass that begins at now should read Gemini's list, to decide whether the
// intent's operation may be submitted again. Only batches can be listed, so an intent without a
// collection is never listed. leapt is when the store's clock leapt last: an attempt before that has an
// unknown age, and is counted from the leap.
func (i Intent) ToList(leapt, now time.Time) bool {
	return i.Waiting() && i.Collection == operation.Batches && i.attempt().ListedAt.IsZero() &&
		!now.Before(i.attemptOver(leapt))
}

// attemptOver returns from when on the last attempt is over, on a clock that leapt last at leapt.
func (i Intent) attemptOver(leapt time.Time) time.Time {
	return operation.Later(i.AttemptedAt(), operation.Instant(leapt)).Add(attemptOver)
}

// Unlisted returns d with ListedAt set, to be stored. The pass began at now, read Gemini's list to its
// end without an operation of the intent, and did not find the intent's names. leapt is as ToList's.
func (d DueIntent) Unlisted(leapt, now time.Time) DueIntent {
	if d.Intent.ToList(leapt, now) {
		attempt := d.Intent.attempt()
		attempt.ListedAt = operation.Instant(now)
		d.Intent.Attempt = &attempt
	}
	return d
}

// nextListing returns when the next pass should read the list for an OPEN intent: once its last attempt
// is over, then in every pass until ListedAt is set. Zero: never.
func (l *protocol) nextListing(i Intent, now time.Time) time.Time {
	over := i.AttemptedAt().Add(attemptOver)
	switch {
	case i.Collection != operation.Batches || !i.attempt().ListedAt.IsZero():
		return time.Time{}
	case now.Before(over):
		return over
	default:
		return operation.Instant(now.Add(l.settings.Interval - l.early()))
	}
}
