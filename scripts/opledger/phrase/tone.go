package phrase

import (
	"cmp"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Tone says whether something is as it should be. Pages show it as a colour, beside words that say
// the same.
type Tone string

// The tones.
const (
	Good    Tone = "good"
	Bad     Tone = "bad"     // an operator must decide
	Warn    Tone = "warn"    // unusual
	Busy    Tone = "busy"    // in progress, or expected
	Neutral Tone = "neutral" // everything else
)

// StateTone returns the tone of a state: an operation's, an effect's, an intent's, an item's or a part's; or of a job's
// phase.
func StateTone(state any) Tone {
	switch state {
	case operation.Succeeded, ledger.EffectDone, ledger.IntentBound, ledger.ItemDone, job.Collected, job.Consumed:
		return Good
	case operation.Failed, ledger.EffectDead, ledger.ItemFailed:
		return Bad
	case operation.Cancelled, operation.Expired, operation.RequiresAction, ledger.IntentAbandoned,
		job.Refused, job.Dropped, job.Released:
		return Warn
	case operation.Running, ledger.EffectClaimed, ledger.IntentOpen,
		job.Splitting, job.Running, job.Finishing, job.Starting, job.Started:
		return Busy
	default:
		return Neutral
	}
}

// statusTones are the tones of an effect's status in its operation's record, where it is none of the neutral ones.
var statusTones = map[operation.EffectStatus]Tone{
	operation.EffectOpen: Busy, operation.EffectDone: Good, operation.EffectDead: Bad, operation.EffectWithheld: Warn,
}

// StatusTone returns the tone of an effect's status in its operation's record.
func StatusTone(status operation.EffectStatus) Tone { return cmp.Or(statusTones[status], Neutral) }

// deliveryTone is that of the decision: the operation has the tone of its state.
func deliveryTone(d ledger.Delivery) Tone {
	if d.Outcome == ledger.Conflict {
		return Warn
	}
	return Neutral
}

func attemptTone(e ledger.Effect, a ledger.Attempt) Tone {
	switch {
	case a.Outcome == ledger.AttemptDone:
		return Good
	case a.Outcome == ledger.AttemptDead:
		return Bad
	case a.Outcome == ledger.AttemptContinued, a.Outcome == "" && running(e, a):
		return Busy
	default:
		return Warn
	}
}
