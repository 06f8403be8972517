package ledger

import (
	"testing"
	"time"
)

// TestIntentTimes: what a waiting intent still waits for, at the ends of its times [G6].
func TestIntentTimes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	name, later := KeptName{Key: "batches/a", Name: "batches/a"}, now.Add(1)
	for _, test := range []struct {
		what                             string
		intent                           Intent
		overdue, searched, lookUps, over bool
	}{
		{"open", Intent{State: IntentOpen, GiveUpAt: now.Add(1)}, false, true, false, true},
		{"open, and now given up", Intent{State: IntentOpen, GiveUpAt: now}, true, true, false, true},
		{"given up", Intent{State: IntentAbandoned, AbandonedAt: now.Add(1 - SearchFor)}, false, true, false, false},
		{"searched for long enough", Intent{State: IntentAbandoned, AbandonedAt: now.Add(-SearchFor)},
			false, false, false, true},
		{"bound", Intent{State: IntentBound, AbandonedAt: now}, false, false, false, true},
		{"of what no list has", Intent{State: IntentOpen, GiveUpAt: now, Collection: "videos"}, true, false, false, true},
		{"a name, kept", Intent{State: IntentOpen, GiveUpAt: later, Names: keptAt(name, now.Add(1-SearchFor))},
			false, true, true, false},
		{"a name, kept long enough", Intent{State: IntentOpen, GiveUpAt: later, Names: keptAt(name, now.Add(-SearchFor))},
			false, true, false, true},
		{"a name that nothing waits for", Intent{State: IntentBound, Names: keptAt(name, now)}, false, false, false, true},
	} {
		i := test.intent
		if i.Overdue(now) != test.overdue || i.Searched(now) != test.searched || len(i.ToLookUp(now)) > 0 != test.lookUps ||
			i.SearchOver(now) != test.over {
			t.Errorf("%s: overdue %v, searched for %v, names to look up %v, search over %v", test.what, i.Overdue(now),
				i.Searched(now), i.ToLookUp(now), i.SearchOver(now))
		}
	}
}

func keptAt(name KeptName, at time.Time) []KeptName {
	name.At = at
	return []KeptName{name}
}
