package effect

import (
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// An Outcome is what became of a message, a word that logs and metrics count [S9].
type Outcome string

// The outcomes of a message.
const (
	Finished  Outcome = "finished"   // the effect happened, and that is recorded
	Failed    Outcome = "failed"     // the attempt failed, and that is recorded; the next is after a back-off
	Died      Outcome = "dead"       // the effect will not happen; the operator must decide
	Continued Outcome = "continued"  // the time was over first; the rest is handed on
	Postponed Outcome = "postponed"  // it cannot be run now, and nothing failed; the next attempt is after a wait
	LeaseLost Outcome = "lease-lost" // it may have happened; another worker has seized the claim
	Skipped   Outcome = "skipped"    // nothing to do: absent, done or dead
	Held      Outcome = "held"       // another worker has the claim
	Early     Outcome = "early"      // it is backing off
	Unknown   Outcome = "unknown"    // this revision has no handler of that name; the sweep tries again
	Paused    Outcome = "paused"     // effects are paused; it is due, and the sweep tries again
	Busy      Outcome = "busy"       // as many of its rule run in this process as may; otherwise as Paused
	Newer     Outcome = "newer"      // a newer revision wrote what it is about; the sweep of that one tries again
)

// A Report is what Run did.
type Report struct {
	Outcome Outcome
	Lease   ledger.Lease   // of the attempt; zero where there was none
	Verdict ledger.Verdict // of the claim
	// Replay is what an operator's message changed before the claim; zero for any other message.
	Replay ledger.Replayed
	// Cause is why the effect did not happen; nil where it did, or was not attempted. It has been
	// recorded. Where the message asks for what cannot be replayed it says so, and is not recorded.
	Cause error
	// Stopped reports that the attempt was interrupted because its process was told to stop: the
	// effect was Continued, and it may have happened.
	Stopped bool
	// FollowErr is the error of a [Follower].
	FollowErr error
	// RetryAfter is how long the effect cannot be attempted again where it Failed, was Postponed, or is
	// Early or Held; where Again, how long to wait before the message is redelivered.
	RetryAfter time.Duration
	// FailingSince is when the first attempt failed of those that count against an effect which
	// Failed, or which Died after others had failed. Alert reports that the effect has been failing
	// for long; only one report of an effect does.
	FailingSince time.Time
	Alert        bool
}

// Again reports whether the message must be redelivered because what it asks for is recorded
// nowhere: an operator's message about an effect that this revision does not know, or may not write.
// Everything else is in the ledger, and is retried from there. A subscription whose messages are
// often refused slows down for every message.
func (r Report) Again() bool { return (r.Outcome == Unknown || r.Outcome == Newer) && r.RetryAfter > 0 }
