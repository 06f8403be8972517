package operation_test

import (
	"encoding/json"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

const (
	trace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent = "00-" + trace + "-00f067aa0ba902b7-01"
)

// TestTraceParent: a malformed context is none; a later version of the standard counts as far as it is known.
func TestTraceParent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]operation.TraceParent{
		"":                       "",
		parent:                   parent,
		"01" + parent[2:]:        parent,
		"01" + parent[2:] + "-x": parent,
		"ff" + parent[2:]:        "",
		parent + "-x":            "",
		parent + "\n":            "",
		" " + parent:             "",
		"00-" + trace + "-01":    "",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01": "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-" + trace + "-0000000000000000-01":                    "",
	} {
		if got := operation.ParseTraceParent(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
		var said operation.Submission
		given, _ := json.Marshal(map[string]string{"traceParent": text}) // a map of texts
		if err := json.Unmarshal(given, &said); err != nil || said.TraceParent != want {
			t.Errorf("%s is read as %q, %v, want %q", given, said.TraceParent, err, want)
		}
	}
}

// TestTraceParentChild: each attempt has a span of its own, the same whenever it is asked for, in the submitter's
// trace.
func TestTraceParentChild(t *testing.T) {
	t.Parallel()
	given := operation.TraceParent(parent)
	first, second, other := given.Child("key", 1), given.Child("key", 2), given.Child("another", 1)
	if operation.ParseTraceParent(string(first)) != first || first.Trace() != trace || first[52:] != "-01" {
		t.Errorf("%q of %q", first, given)
	}
	if first == given || first == second || first == other || first != given.Child("key", 1) {
		t.Errorf("%q, %q, %q", first, second, other)
	}
	for _, none := range []operation.TraceParent{"", "malformed"} {
		if none.Child("key", 1) != "" || none.Trace() != "" {
			t.Errorf("%q has the child %q", none, none.Child("key", 1))
		}
	}
}
