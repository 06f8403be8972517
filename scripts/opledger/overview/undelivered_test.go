package overview

import (
	"slices"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestUndelivered: that look-ups found every one of the newest completions is a note, from a few on; one that a
// delivery reported ends it, and those that Gemini has no event for say nothing.
func TestUndelivered(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	// ends are n that a source reported, a minute between them, the newest first.
	ends := func(n int, by operation.Source, state operation.State) (all []operation.Record) {
		for i := range n {
			all = append(all, operation.Record{Key: "batches/a", State: state, SettledBy: by,
				SettledAt: now.Add(-time.Duration(i+1) * time.Minute)})
		}
		return all
	}
	old := ends(1, operation.Reconcile, operation.Succeeded)
	old[0].SettledAt = now.Add(-UndeliveredFor - time.Second)
	canary := ends(1, operation.Webhook, operation.Succeeded)
	canary[0].Key = "batches/" + operation.CanaryPrefix + "b"
	some := ends(fewUndelivered, operation.Reconcile, operation.Succeeded)
	for _, c := range []struct {
		about string
		ends  []operation.Record
		noted bool
	}{
		{"look-ups found some", some, true},
		{"one less", some[1:], false},
		{"one less, and an old one", slices.Concat(some[1:], old), false},
		{"a delivery reported the newest", slices.Concat(ends(1, operation.Webhook, operation.Succeeded), some), false},
		{"a delivery reported one before", slices.Concat(some, ends(1, operation.Webhook, operation.Failed)), true},
		{"a canary was delivered", slices.Concat(canary, some), true},
		{"cancelled", ends(fewUndelivered, operation.Reconcile, operation.Cancelled), false},
	} {
		o := Overview{At: now, Undelivered: undelivered(c.ends, now.Add(-UndeliveredFor))}
		if o.judge(Options{Interval: 5 * time.Minute, File: true}); len(o.Problems) > 0 || (len(o.Notes) == 1) != c.noted {
			t.Errorf("%s: %+v, %+v", c.about, o.Problems, o.Notes)
		}
		if c.noted && (o.Notes[0].Playbook != "undelivered" || o.Notes[0].Command != "opledger webhook check") {
			t.Errorf("%s: %+v", c.about, o.Notes[0])
		}
	}
}
