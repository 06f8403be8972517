package operation_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// TestIssued: ids of the forms that Gemini issues are told apart from ids that a submitter may have
// made up [K6].
func TestIssued(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("a1b2c3", 6)
	for raw, want := range map[string]bool{
		"batches/" + id:                     true,
		"projects/p/batches/" + id:          true,
		"batches/" + id[:35]:                false,
		"batches/" + id + "x":               false,
		"batches/" + strings.ToUpper(id):    false,
		"batches/batch_123456":              false,
		"batches/" + id[:35] + "\u0660":     false, // a digit, and not one of Gemini's
		"interactions/v1_ChdOdXRoX2lk-_0":   true,
		"interactions/v1_":                  false,
		"interactions/V1_ChdOdXRo":          false,
		"interactions/ChdOdXRo":             false,
		"interactions/v1_a b":               false,
		"models/veo/operations/9p5ug42emn2": true,
		"operations/9p5ug42emn2z":           true,
		"operations/9P5ug42emn2z":           false,
		"operations/files-9p5ug42":          false,
		"batchPredictionJobs/123456789":     true,
		"batchJobs/123456789":               true,
		"batchPredictionJobs/nightly":       false,
		id:                                  false,
		"files/" + id:                       false,
	} {
		name, err := operation.ParseName(raw, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := name.Key.Issued(); got != want {
			t.Errorf("%s is issued: %v, want %v", name.Key, got, want)
		}
	}
}
