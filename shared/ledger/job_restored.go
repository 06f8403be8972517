package ledger

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// submittedAgainFor is how long after a restore a job may be one that is submitted again, because the backup
// lacks it.
const submittedAgainFor = SearchFor

// mayLack reports whether a backup may lack the intent of a part's batch that Gemini has. submitted is when
// its job was; zero, of no job: its submitter decides that.
func (s Settings) mayLack(submitted, now time.Time) bool {
	return !submitted.IsZero() && !s.RestoredAt.IsZero() &&
		(submitted.Before(s.RestoredAt) || now.Before(s.RestoredAt.Add(submittedAgainFor)))
}

// first returns the first intent of i, with its verdict, and the write of it. Where a restored ledger may
// lack an earlier one, its attempt is that of no caller, and a pass that reads Gemini's list decides [G6].
func (l *protocol) first(i Intention, nonce string, read Snapshot) (Intent, Write) {
	now := operation.Instant(read.ReadTime)
	intent := Intent{
		Submission: i.Submission, State: IntentOpen, Writer: nonce, CreatedAt: now, Collection: i.Collection,
		Verdict: MaySubmit,
	}
	lacking := l.settings.mayLack(i.jobSubmitted, now)
	if lacking {
		intent.Verdict, intent.RenewedAt, i.Attempt = MustWait, now, ""
		if i.jobSubmitted.Before(now) { // the list is read as far back
			intent.CreatedAt = i.jobSubmitted
		}
	}
	intent = l.nextIntent(intent.announced(i.Attempt), now)
	write := Write{Path: read.Documents[0].Path, Token: read.Documents[0].Token, Data: intent}
	intent.Created = true
	if lacking {
		intent = l.waiting(intent, true, read.Leapt, now)
	}
	return intent, write
}
