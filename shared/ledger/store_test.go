package ledger

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// TestDecode: one decoding is enough to read a document and its number. A newer one is an error, whatever else it
// holds, and leaves nothing that may be misread [L6].
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, body string
		into, want any
		newer      bool
		decoded    int
	}{
		{"read", `{"schema": 2, "id": "a"}`, &Delivery{}, &Delivery{Schema: 2, ID: "a"}, false, 1},
		{"without a number", `{"id": "a"}`, &Delivery{}, &Delivery{ID: "a"}, false, 1},
		{"newer", `{"schema": 3, "id": "a"}`, &Delivery{}, &Delivery{}, true, 1},
		{"newer, of another shape", `{"id": "a", "name": [], "schema": 3}`, &Delivery{}, &Delivery{}, true, 2},
		{"of another shape", `{"name": [], "schema": 2}`, &Delivery{}, nil, false, 2},
		{"a number of another shape", `{"schema": "3"}`, &Delivery{}, nil, false, 2},
		{"read, into a struct without a number", `{"body": "YQ=="}`, &QuarantinedPart{},
			&QuarantinedPart{Body: []byte("a")}, false, 2},
		{"newer, into a struct without a number", `{"schema": 3, "body": "YQ=="}`, &QuarantinedPart{}, &QuarantinedPart{},
			true, 2},
	} {
		decoded := 0
		err := NewDocument("a/b", "1", func(into any) error {
			decoded++
			return json.Unmarshal([]byte(test.body), into)
		}).Decode(test.into)
		if errors.Is(err, ErrNewer) != test.newer || (err == nil) != (test.want != nil && !test.newer) ||
			decoded != test.decoded || test.want != nil && !reflect.DeepEqual(test.into, test.want) {
			t.Errorf("%s: %+v, %v, decoded %d times", test.name, test.into, err, decoded)
		}
	}
}

// TestLeavesOut: what its labels show not to match is not decoded as a whole. What cannot be read, is newer, or is not
// the ledger's is not left out, because a list reports it.
func TestLeavesOut(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"schema": 1, "key": "batches/a", "jobKind": "day"}`:     true,
		`{"schema": 1, "key": "batches/a", "jobKind": "nightly"}`: false,
		`{"schema": 3, "key": "batches/a", "jobKind": "day"}`:     false,
		`{"schema": 1, "key": "batches/b", "jobKind": "day"}`:     false,
		`{"schema": 1, "key": "batches/a", "jobKind": 1}`:         false,
		`{`: false,
	} {
		doc := NewDocument("operations/batches:a", "1", func(into any) error { return json.Unmarshal([]byte(body), into) })
		if got := (Filter{JobKind: "night*"}).leavesOut(doc); got != want {
			t.Errorf("%s: %v", body, got)
		}
		if (Filter{Collection: "videos"}).leavesOut(doc) {
			t.Errorf("%s is left out without a label in the filter", body)
		}
	}
}
