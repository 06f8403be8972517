package phrase

import (
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestConflict: an end that stands is none beside itself, though an older revision has kept it as one.
func TestConflict(t *testing.T) {
	t.Parallel()
	r := operation.Record{
		State: operation.Succeeded, ConflictAt: time.Unix(0, 0), ConflictState: operation.Failed,
		ConflictBy: operation.Webhook,
	}
	want := "FAILED was reported by webhook on " + LocalTime(r.ConflictAt) + ", and not applied: SUCCEEDED stands"
	if got := Conflict(r); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r.State = operation.Failed
	if got := Conflict(r); got != "" {
		t.Errorf("%q of the end that stands", got)
	}
	r.State = operation.Succeeded
	r = operation.Resolve(r, operation.Decided{At: time.Unix(0, 0), By: "ada", Why: "it is true"})
	want = "FAILED was reported by webhook, and not applied: SUCCEEDED stands; resolved " + LocalTime(time.Unix(0, 0)) +
		" by ada: it is true"
	if got := Conflict(r); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	r = operation.Refuse(r, operation.Event{State: operation.Expired, Source: operation.Reconcile}, time.Unix(60, 0))
	want = "EXPIRED was reported by reconcile on " + LocalTime(r.ConflictAt) + ", and not applied: SUCCEEDED stands; " +
		"FAILED was resolved " + LocalTime(time.Unix(0, 0)) + " by ada: it is true"
	if got := Conflict(r); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
