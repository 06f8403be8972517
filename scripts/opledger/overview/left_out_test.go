package overview

import (
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestJudgeLeftOut: an effect that is left out is a problem, whatever ended meanwhile. One that is planned again is one
// while an operation that ended meanwhile may be without it: where not all were read, that is not known.
func TestJudgeLeftOut(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	lasts := ledger.LeftOut{Rule: ledger.Rule{Name: "publish"}, Since: since, By: "serve"}
	forward := ledger.LeftOut{Rule: ledger.Rule{Name: ForwardEffect}, Since: since, By: "webhook"}
	over := lasts
	over.Until = since.Add(time.Hour)
	for name, c := range map[string]struct {
		effect        LeftOut
		file          bool
		says, command string // without says there is no problem
	}{
		"it lasts": {LeftOut{lasts, 0, false}, true,
			"without the effect publish, which was planned before: start serve again with it in OPLEDGER_EFFECTS; where that " +
				"is meant, opledger resolve --without publish --store x --reason TEXT ends this", "list --without publish"},
		"some ended": {LeftOut{lasts, 3, false}, true, "; 3 operations ended without it since; ", "list --without publish"},
		"a deployment": {LeftOut{forward, 1, true}, false, "deploy again with it by --forward-to, or in OPLEDGER_EFFECTS; " +
			"at least 1 operation ended without it since; ", "list --without forward"},
		"over": {LeftOut{over, 0, false}, true, "", ""},
		"over, of some": {LeftOut{over, 2, false}, true,
			"2 operations ended without the effect publish, which no process planned from ", "replay --without publish"},
		"over, not all read": {LeftOut{over, 0, true}, true,
			"operations ended, of the newest none without the effect publish", "replay --without publish"},
	} {
		o := Overview{LeftOut: []LeftOut{c.effect}}
		o.judge(Options{Interval: time.Hour, File: c.file, StoreFlag: " --store x"})
		if c.says == "" {
			if len(o.Problems) != 0 {
				t.Errorf("%s: %+v", name, o.Problems)
			}
			continue
		}
		if len(o.Problems) != 1 || !strings.Contains(o.Problems[0].Words, c.says) ||
			o.Problems[0].Command != "opledger "+c.command+" --store x" || o.Problems[0].Effect != c.effect.Rule.Name ||
			o.Problems[0].Playbook != "effects-unknown" {
			t.Errorf("%s: %+v", name, o.Problems)
		}
	}
}
