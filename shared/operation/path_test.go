package operation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestPath: a name's path is its key, a video's with the model in front [K5]. A name that a URL would
// change has none.
func TestPath(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"models/m/batches/A-b_c.d~e=":      "batches/A-b_c.d~e=",
		"/models/veo//Operations/abc/":     "models/veo/operations/abc",
		"operations/abc":                   "operations/abc",
		"projects/p/interactions/v1_x-y=":  "interactions/v1_x-y=",
		"projects/p/batchPredictionJobs/7": "batchPredictionJobs/7",
	} {
		if got, err := parse(t, raw, "").Path(); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", raw, got, err, want)
		}
	}
	for raw, segment := range map[string]string{
		"batches/..": `".."`, "batches/.": `"."`, "batches/a?alt=media": `"a?alt=media"`, "batches/x#y": `"x#y"`,
		"batches/a:cancel": `"a:cancel"`, "batches/x%2Fy": `"x%2Fy"`, "batches/x y": `"x y"`, `batches/x\y`: `"x\\y"`,
		"batches/ü": `"ü"`, "models/%2e%2e/operations/x": `"%2e%2e"`, "models/../operations/x": `".."`,
		"models/veo?x=y/operations/x": `"veo?x=y"`, "tunedModels//x": `""`,
	} {
		got, err := parse(t, raw, "").Path()
		if got != "" || !errors.Is(err, operation.ErrName) || !strings.Contains(err.Error(), segment) {
			t.Errorf("%q: %q, %v, want an error about %s", raw, got, err, segment)
		}
	}
}
