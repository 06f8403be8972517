package effects

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
)

// logAttempt logs the result of an attempt, with the alerts, in the trace of the submission where there was one.
func (f Function) logAttempt(ctx context.Context, m ledger.Message, report effect.Report, err error,
	took time.Duration) {
	ctx = logging.InTrace(ctx, report.Lease.Trace.Trace())
	event := "effect"
	if m.Operation.IsCanary() && report.Outcome == effect.Skipped {
		event = "canary" // no signal counts it
	}
	log := f.Log.With("event", event, "operation", m.Operation, "effect", m.Effect)
	if err != nil {
		if report.Outcome == "" {
			log.ErrorContext(ctx, "effect not attempted", "outcome", "error", "error", err)
		} else {
			log.ErrorContext(ctx, "effect attempted, its outcome not recorded: it will be repeated",
				"outcome", "unrecorded", "reason", report.Outcome, "uncertain", true,
				"attempt", report.Lease.Attempt, "fence", report.Lease.Fence, "error", err)
		}
		return
	}
	level, reason, message := slog.LevelInfo, string(report.Verdict), "effect"
	switch report.Outcome {
	case effect.Finished: // its outcome says that it was claimed, and what the line is
		reason, message = "", ""
	case effect.Skipped, effect.Continued:
		if report.Cause != nil {
			level = slog.LevelWarn
		}
	case effect.Failed, effect.LeaseLost, effect.Unknown, effect.Newer:
		level = slog.LevelWarn
	case effect.Died:
		level = slog.LevelError
	}
	switch {
	case report.Lease.Seized:
		reason = "seized"
	case report.Stopped:
		reason = "stopped"
	case report.Outcome == effect.Paused:
		reason = "settings"
	case report.Outcome == effect.Newer:
		reason = "schema"
	}
	attributes := []any{
		"outcome", report.Outcome, "attempt", report.Lease.Attempt, "fence", report.Lease.Fence,
		"duration_ms", took.Milliseconds(),
	}
	if reason != "" {
		attributes = append(attributes, "reason", reason)
	}
	if report.Lease.Seized || report.Outcome == effect.LeaseLost || report.Stopped {
		attributes = append(attributes, "uncertain", true) // how an attempt ended is not in the ledger
	}
	if m.FromOperator() {
		attributes = append(attributes, "run", report.Replay.Effect, "replay", report.Replay.Outcome,
			"by", m.By, "delivery", m.ID)
	}
	if report.Outcome == effect.Failed || report.Outcome == effect.Died && report.Verdict == ledger.Claimed {
		attributes = append(attributes, "failing_since", cmp.Or(report.FailingSince, f.Now())) // this one may be the first
	}
	if report.Cause != nil {
		attributes = append(attributes, "error", said(report.Cause))
	}
	if report.FollowErr != nil {
		level, message = slog.LevelWarn, "effect"
		attributes = append(attributes, "follow_error", report.FollowErr)
	}
	log.Log(ctx, level, message, attributes...)
	f.alert(ctx, m, report)
}

// maxCause bounds the logged error of an attempt, in bytes.
const maxCause = 1 << 10

// said returns the error of an attempt as it may be logged: a handler's client may quote its
// request in it.
func said(cause error) string { return diag.Failure(cause.Error(), maxCause) }
