// Package effects is the function that Pub/Sub pushes to: one message, attempts at one side effect. A person's message, which
// has no attempt, first reopens what is dead, plans what was never planned, or plans a run of its own [G5].
//
//	what came of it                          answer, and what becomes of the message
//	done, dead, skipped, held by another     2xx: it is over
//	failed, and recorded; backing off        2xx: it is over, and the effect comes back after its back-off
//	its time over before its items were      2xx: it is over, and another asks for the rest
//	unknown name, paused, busy               2xx: it is over, and the sweep sends another
//	unknown name, and a person sent it       5xx: again later, for the sweep would not
//	the ledger cannot be asked or told       5xx: again later
//	malformed                                400: again, until the dead-letter topic takes it
//
// Only what the ledger could not record is refused: a push subscription that is refused much slows down for every message. What
// failed is tried again inside the request where its back-off is at most 20 s, in at most half of the process's slots; after a
// longer one the sweep sends a message. Of one effect only so many are in flight in a process as its settings say; others wait
// for their turn in the same half, or are left to the sweep.
//
// While effects are paused, what a person's message asks for is still done in the ledger, where it waits for the end of the
// pause: a queue forgets what it could not deliver for too long.
//
// Every message is one line in the log with event=effect and an outcome to count; a seized claim is told by reason=seized.
// uncertain=true marks the lines that tell of an attempt whose outcome did not reach the ledger [R8].
// A failure says since when the effect fails. What the operator must see is one line more, with event=alert: reason=dead-effect;
// reason=failing-effect, once for each effect that has been failing for an hour; and reason=unknown-effect, which is said once in
// a while for each name.
package effects

import (
	"context"
	"encoding/json"
	"fmt"
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
	// Paused lets no effect run: nothing is claimed and no attempt is counted. Messages are taken in all the same.
	Paused bool
	// Concurrency is how many of each effect may be in flight in this process, by name; of one that it does not name, any number.
	Concurrency map[string]int
	// Slots is how many messages this process handles at once. Half of them may wait: for a turn of their effect, or for a
	// back-off. 0: none waits.
	Slots int
	// Later, if not nil, brings a message back in this process, instead of its waiting here. It must not block.
	Later func(m ledger.Message, after time.Duration)
	Now   func() time.Time
	Log   *slog.Logger
}

// A Function runs effects.
type Function struct {
	Options
	unknown *reminder
	pace    pace
	pushes  http.Handler // one, because what all bodies may take together is its
}

// New returns the function.
func New(o Options) Function {
	f := Function{Options: o, unknown: &reminder{}, pace: newPace(o)}
	f.pushes = httpfunc.OnlyPOST(http.HandlerFunc(f.post))
	return f
}

// A pushed is the part of a Pub/Sub push, and of the CloudEvent made of one, that the function reads.
type pushed struct {
	Message *struct {
		Data []byte `json:"data"`
		ID   string `json:"messageId"`
	} `json:"message"`
}

// parse reads the effect message in a push. The error wraps ledger.ErrMessage.
func parse(push []byte) (ledger.Message, error) {
	var p pushed
	if err := json.Unmarshal(push, &p); err != nil {
		return ledger.Message{}, fmt.Errorf("%w: it is not a Pub/Sub message: %w", ledger.ErrMessage, err)
	}
	if p.Message == nil {
		return ledger.Message{}, fmt.Errorf("%w: it has no \"message\"; it must be a push of Pub/Sub, {\"message\":{\"data\":BASE64}}", ledger.ErrMessage)
	}
	m, err := ledger.ParseMessage(p.Message.Data)
	m.ID = p.Message.ID
	return m, err
}

// say logs what came of an attempt.
func (f Function) say(ctx context.Context, m ledger.Message, report effect.Report, err error, took time.Duration) {
	log := f.Log.With("event", "effect", "operation", m.Operation, "effect", m.Effect)
	if err != nil {
		if report.Outcome == "" {
			log.ErrorContext(ctx, "effect not attempted", "outcome", "error", "error", err)
		} else {
			log.ErrorContext(ctx, "effect attempted, its outcome not recorded: it will be repeated", "outcome", "unrecorded",
				"reason", report.Outcome, "uncertain", true, "attempt", report.Lease.Attempt, "fence", report.Lease.Fence, "error", err)
		}
		return
	}
	level, reason := slog.LevelInfo, string(report.Verdict)
	switch report.Outcome {
	case effect.Skipped, effect.Continued:
		if report.Cause != nil {
			level = slog.LevelWarn
		}
	case effect.Failed, effect.LeaseLost, effect.Unknown:
		level = slog.LevelWarn
	case effect.Died:
		level = slog.LevelError
	}
	switch {
	case report.Lease.Seized:
		reason = "seized"
	case report.Outcome == effect.Paused:
		reason = "settings"
	}
	attributes := []any{
		"outcome", report.Outcome, "reason", reason, "attempt", report.Lease.Attempt, "fence", report.Lease.Fence,
		"duration_ms", took.Milliseconds(),
	}
	if report.Lease.Seized || report.Outcome == effect.LeaseLost {
		attributes = append(attributes, "uncertain", true) // an attempt ended, and the ledger does not know how
	}
	if m.FromPerson() {
		attributes = append(attributes, "run", report.Replay.Effect, "replay", report.Replay.Outcome, "by", m.By, "delivery", m.ID)
	}
	if report.Outcome == effect.Failed || report.Outcome == effect.Died && report.Verdict == ledger.Claimed {
		attributes = append(attributes, "failing_since", f.failingSince(report))
	}
	if report.Cause != nil {
		attributes = append(attributes, "error", report.Cause)
	}
	log.Log(ctx, level, "effect", attributes...)
	f.alert(ctx, m, report)
}

// failingSince returns when the first attempt failed of those that a failure counts with: it may be the first.
func (f Function) failingSince(report effect.Report) time.Time {
	if report.FailingSince.IsZero() {
		return f.Now()
	}
	return report.FailingSince
}
