// Package effects is the function that Pub/Sub pushes to: one message, attempts at one side effect.
// An operator's message, which has no attempt, first reopens what is dead, plans what was never
// planned, or plans a rerun [G5].
//
//	result                                   answer, and what becomes of the message
//	done, dead, skipped, held by another     2xx: it is finished
//	failed, and recorded; backing off        2xx: it is finished; the effect is retried after its back-off
//	its time over before its items were      2xx: it is finished; another message carries on with the rest
//	paused, busy                             2xx: it is finished; the sweep sends another
//	unknown name                             2xx: the same
//	of a newer revision's document           2xx: the same; the sweep of that revision does [L6]
//	the last two, from an operator           5xx: it is redelivered, because the sweep would not send it
//	the ledger cannot be read or written     5xx: it is redelivered
//	malformed                                400: it is redelivered, until it is dead-lettered
//
// A message is refused only if the ledger could not record its outcome, because refusals slow down
// the whole push subscription. A failure is retried inside the request where its back-off is at
// most 20 s. At most half of the process's slots wait so. After a longer back-off the sweep sends a
// message. Of one effect only as many are in flight in a process as its settings allow; others wait
// for their turn in the same half of the slots, or are left to the sweep.
//
// While effects are paused, an operator's message is still recorded in the ledger, because a queue
// drops messages that wait too long.
//
// Every message is one line in the log with event=effect and an outcome to count; one about an
// operation that a canary made up has event=canary. reason=seized is a claim that was seized,
// reason=stopped an attempt that SIGTERM interrupted. uncertain=true marks an attempt whose outcome
// did not reach the ledger [R8]. A failure has the time since which the effect fails. An alert is a
// line of its own, with event=alert. Its reason is dead-effect, results-lost, failing-effect once
// for each effect that has been failing for an hour, or unknown-effect once an hour for each name.
package effects

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/ledger"
)

// Options are what the function works with.
type Options struct {
	Runner *effect.Runner
	// Paused lets no effect run: nothing is claimed and no attempt is counted. Messages are still
	// accepted.
	Paused bool
	// Concurrency is how many of each effect may be in flight in this process, by name. An effect that
	// it does not name is not limited.
	Concurrency map[string]int
	// Slots is how many messages this process handles at once. Half of them may wait, for a turn of
	// their effect or for a back-off. 0: none waits.
	Slots int
	// Timeout is when the platform ends a request. Its work ends up to 15 s earlier, so that the
	// outcome is recorded. 0: the platform sets no end.
	Timeout time.Duration
	// Later, if not nil, requeues a message in this process after a time, instead of waiting inside
	// the request. It must not block.
	Later func(m ledger.Message, after time.Duration)
	Now   func() time.Time
	Log   *slog.Logger
}

// A Function runs effects.
type Function struct {
	Options
	// Handler accepts what Pub/Sub pushes, and CloudEvents in either encoding, as Eventarc sends them. It is one for
	// all requests, because it bounds their bodies together.
	http.Handler
	unknown *reminder
	pace    pace
}

// New returns the function.
func New(o Options) Function {
	f := Function{Options: o, unknown: &reminder{logged: map[string]time.Time{}}, pace: newPace(o)}
	f.Handler = httpfunc.OnlyPOST(http.HandlerFunc(f.post))
	return f
}
