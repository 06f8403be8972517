package operation_test

import (
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestResolution: an operator's decision about another end counts beside the end that stood then, and
// about that other end alone [M5].
func TestResolution(t *testing.T) {
	t.Parallel()
	by := operation.Decided{At: late, By: "ops@example.com", Why: "seen"}
	refused := operation.Refuse(record(operation.Failed, early), event(operation.Succeeded, late), late)
	resolved := operation.Resolve(refused, by)
	again := operation.Refuse(resolved, event(operation.Succeeded, late), late) // as an older revision notes it
	elsewhere := again
	elsewhere.State = operation.Expired
	further := operation.Refuse(resolved, event(operation.Cancelled, late), late)
	for name, c := range map[string]struct {
		rec                  operation.Record
		resolved, conflicted bool
	}{
		"M5: no conflict":                   {operation.Record{}, false, false},
		"M5: a conflict":                    {refused, false, true},
		"M5: resolved":                      {resolved, true, false},
		"M5: resolved, and noted again":     {again, true, false},
		"M5: resolved beside another end":   {elsewhere, false, true},
		"M5: resolved, and then a further":  {further, false, true},
		"M5: the end that stands was noted": {operation.Refuse(refused, event(operation.Failed, late), late), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.rec.Resolved(); got != c.resolved {
				t.Errorf("M5: resolved is %v", got)
			}
			if got := c.rec.Conflicted(); got != c.conflicted {
				t.Errorf("M5: conflicted is %v", got)
			}
		})
	}
}
