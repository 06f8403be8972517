package register_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestStrangeCollection: a name in no collection is answered 400, because it could never be looked
// up. The answer lists the collections and a suggestion, and repeats only the path of a URL.
// Nothing is written [L2].
func TestStrangeCollection(t *testing.T) {
	t.Parallel()
	const known = ": operations, batches, batchJobs, batchPredictionJobs or interactions, as in " +
		"batches/abc123"
	w := newWorld(t)
	for name, want := range map[string]string{
		"batch/zzz":   `name: "batch/zzz" is not in a known collection; did you mean batches/zzz?`,
		" batchs/x/ ": `name: "batchs/x" is not in a known collection; did you mean batches/x?`,
		"models/veo/operation/9p5u": `name: "models/veo/operation/9p5u" is not in a known collection; did you ` +
			`mean models/veo/operations/9p5u?`,
		"INTERACTION/v1_Chd": `name: "INTERACTION/v1_Chd" is not in a known collection; did you mean ` +
			`interactions/v1_Chd?`,
		"https://h/v1beta/batch/abc?key=topsecret": `name: "v1beta/batch/abc" is not in a known collection; did ` +
			`you mean v1beta/batches/abc?`,
		"https://me:topsecret@h/abc": `name: "abc" has no collection; write batches/abc, ` +
			`operations/abc or interactions/abc`,
		"batch/%zz":   `name: "batch/%zz" is not in a known collection; did you mean batches/%zz?`,
		"batch/a%20b": `name: "batch/a%20b" is not in a known collection; did you mean batches/a%20b?`,
		"files/abc":   `name: "files/abc" is not in a known collection` + known,
		"batches/abc/requests": `name: "batches/abc/requests" has more than an id after batches; ` +
			`an id has no slash, as in batches/abc123`,
		"models/veo/OPERATIONS/a/b": `name: "models/veo/OPERATIONS/a/b" has more than an id after operations; an id ` +
			`has no slash, as in ` +
			`operations/abc123`,
		"gs://bucket/object": `name: "object" has no collection; write batches/object, operations/object or ` +
			`interactions/object`,
		"abc": `name: "abc" has no collection; write batches/abc, operations/abc or interactions/abc`,
	} {
		r := w.post(fmt.Sprintf(`{"name":%q,"jobKind":"review"}`, name))
		if r.Status != http.StatusBadRequest || len(r.Error.Problems) != 1 || r.Error.Problems[0] != want ||
			strings.Contains(r.Error.Message, "topsecret") {
			t.Errorf("%s: %d %q, want 400 %q", name, r.Status, r.Error.Problems, want)
		}
	}
	if all, err := w.ledger.Operations.List(t.Context(), ledger.Filter{Limit: 10}); err != nil || len(all.Items) != 0 {
		t.Errorf("written: %v, %v", all, err)
	}
}

// TestNameThatCannotBeAsked: a name that no look-up would send is answered 400, and nothing is
// written. The right name can be registered later: the first would have been kept [K5].
func TestNameThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"models/%2e%2e/operations/x", "batches/a?alt=media", "batches/a:cancel",
		"models/veo:go/operations/x", "batches/..", "interactions/v1 x", "batchPredictionJobs/7#8"} {
		r := w.post(fmt.Sprintf(`{"name":%q,"jobKind":"review"}`, name))
		if r.Status != http.StatusBadRequest || len(r.Error.Problems) != 1 ||
			!strings.Contains(r.Error.Problems[0], "cannot be part of a request; use the name that Gemini gave") {
			t.Errorf("%s: %d %q, want 400", name, r.Status, r.Error.Problems)
		}
	}
	if all, err := w.ledger.Operations.List(t.Context(), ledger.Filter{Limit: 10}); err != nil || len(all.Items) != 0 {
		t.Errorf("written: %v, %v", all, err)
	}
}
