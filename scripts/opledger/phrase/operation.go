package phrase

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// State is an operation's state, with whether the operation is unregistered or abandoned.
func State(r operation.Record) string {
	switch {
	case r.Version == 0:
		return "no record"
	case !r.Registered:
		return string(r.State) + " (unregistered)"
	case r.Abandoned != nil && !r.Settled():
		return string(r.State) + " (abandoned)"
	default:
		return string(r.State)
	}
}

// Effects are an operation's effects with their status, in the order of their names.
func Effects(r operation.Record) string {
	words := make([]string, 0, len(r.Effects))
	for name, status := range r.Effects {
		words = append(words, name+" "+string(status))
	}
	slices.Sort(words)
	return Safe(strings.Join(words, ", "))
}

// Condition says why the last look-ups were inconclusive, and since when.
func Condition(r operation.Record) string {
	var words []string
	if !r.MissingSince.IsZero() {
		words = append(words, "not found at Gemini since "+LocalTime(r.MissingSince))
	}
	if r.Condition != "" && (r.Condition != string(ledger.ConditionNotFound) || len(words) == 0) {
		words = append(words, Safe(r.Condition)+" since "+LocalTime(r.ConditionSince))
	}
	return strings.Join(words, ", ")
}

// Abandoned says when an operation or an effect was given up, who did it, and why; empty where it was not.
func Abandoned(a *operation.Decided) string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%s by %s: %s", LocalTime(a.At), Safe(a.By), Safe(a.Why))
}

// Quarantined says what became of a quarantined delivery: the outcome of its retry, or who resolved it;
// empty where nothing did.
func Quarantined(q ledger.Quarantined) string {
	if q.Resolved != nil && !q.Ingested() {
		return "resolved by " + Safe(q.Resolved.By)
	}
	return Safe(string(q.Outcome))
}

// Unregistered says that the operation is not registered and what that means, or who resolved it; empty
// where it is registered.
func Unregistered(r operation.Record) string {
	switch {
	case r.Registered || r.Version == 0:
		return ""
	case r.UnregisteredResolved != nil:
		return "resolved " + Abandoned(r.UnregisteredResolved)
	default:
		return "an event reported it, and no submitter registered it: no effect of it runs"
	}
}

// MissingBatch says since when Gemini does not find the batch of a part of a job, and what an operator can do who
// knows that it is gone; empty for any other operation.
func MissingBatch(r operation.Record, store string) string {
	if _, _, isPart := operation.ParsePart(r.CorrelationID); !isPart || r.MissingSince.IsZero() {
		return ""
	}
	return Condition(r) + "; if it is gone: opledger release " + r.CorrelationID + " --reason TEXT" + store
}

// WhyPending says why an operation is still waited for.
func WhyPending(r operation.Record, now time.Time, store string) string {
	var words []string
	missing := MissingBatch(r, store)
	switch {
	case missing != "":
		words = append(words, missing)
	case r.HasCondition():
		words = append(words, Condition(r))
	case r.Collection == operation.Jobs:
		words = append(words, "opledger show says how far the job is")
	case r.State == operation.RequiresAction:
		words = append(words, "it waits for its submitter")
	case r.State == operation.Running:
		words = append(words, "Gemini runs it")
	case r.LookUps == 0 && r.DueAt.After(now):
		words = append(words, "young: not looked up yet")
	case r.LookUps == 0:
		words = append(words, "not looked up yet: reconcile is due")
	default:
		words = append(words, "Gemini has not started it")
	}
	if r.CancelRequested != nil {
		words = append(words, "a cancellation was requested")
	}
	if !r.StuckSince.IsZero() {
		words = append(words, "pending for too long since "+LocalTime(r.StuckSince))
	}
	return strings.Join(words, "; ")
}

// Broken says why a document is left alone.
func Broken(b ledger.Broken) string { return "left alone: " + Safe(b.Err.Error()) }
