package operation_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

func TestParseMetadata(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		about, text string
		want        operation.Metadata
	}{
		{"nothing", "", ""},
		{"null", "null", ""},
		{"empty", "{}", ""},
		{"empty, with white space", " {\n} ", ""},
		{"one field", `{"team":"reviews"}`, `{"team":"reviews"}`},
		{"white space outside of texts", "{ \"a\" :\t1,\n \"b\" : \"x y\" }", `{"a":1,"b":"x y"}`},
		{"order is kept", `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{"nested", `{"a":{"b":[1,{"c":null}]}}`, `{"a":{"b":[1,{"c":null}]}}`},
		{"keys that a document store refuses", `{"":1,"__x__":2,"a.b/c":3,"` + "`" + `":4}`,
			`{"":1,"__x__":2,"a.b/c":3,"` + "`" + `":4}`},
		{"a number that no float holds", `{"id":12345678901234567890}`, `{"id":12345678901234567890}`},
		{"not ASCII", `{"größe":"über"}`, `{"größe":"über"}`},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			got, err := operation.ParseMetadata([]byte(tt.text))
			if err != nil || got != tt.want {
				t.Fatalf("%q is %q, %v, want %q", tt.text, got, err, tt.want)
			}
			again, err := operation.ParseMetadata([]byte(got))
			if err != nil || again != got {
				t.Errorf("%q is %q, %v when read again", got, again, err)
			}
		})
	}
}

// notObjects are texts that are no metadata.
var notObjects = []string{" ", "x", "1", `"text"`, "true", "[]", `[{"a":1}]`, "{", `{"a"}`, `{"a":}`, `{a:1}`,
	`{"a":1,}`, `{"a":1} {}`, `{"a":1}x`}

// inItsWords reports whether an error is free of the words of Go's decoder.
func inItsWords(err error) bool {
	text := err.Error()
	return !strings.Contains(text, "json:") && !strings.Contains(text, "Go value") &&
		!strings.Contains(text, "invalid character") &&
		(strings.HasSuffix(text, `, such as {"dataset":"a"}`) || strings.Contains(text, ": it is not JSON (byte "))
}

func TestMetadataErrors(t *testing.T) {
	t.Parallel()
	for _, text := range notObjects {
		if got, err := operation.ParseMetadata([]byte(text)); !errors.Is(err, operation.ErrMetadata) || got != "" ||
			!inItsWords(err) {
			t.Errorf("ParseMetadata(%q) = %q, %v, want ErrMetadata in words for who wrote it", text, got, err)
		}
		bad := operation.Metadata(text)
		for _, pair := range [][2]operation.Metadata{{bad, `{"a":1}`}, {`{"a":1}`, bad}, {bad, ""}, {"", bad}} {
			if got, err := pair[0].Add(pair[1]); !errors.Is(err, operation.ErrMetadata) || got != pair[0] {
				t.Errorf("%q.Add(%q) = %q, %v, want it unchanged and ErrMetadata", pair[0], pair[1], got, err)
			}
		}
	}
	for _, text := range []string{`"text"`, "1", "[]", "true"} {
		kept := operation.Record{Submission: operation.Submission{Metadata: `{"a":1}`}}
		err := json.Unmarshal([]byte(`{"metadata":`+text+`}`), &kept)
		if !errors.Is(err, operation.ErrMetadata) || kept.Metadata != `{"a":1}` {
			t.Errorf("a record with metadata %s: %v, leaves %q", text, err, kept.Metadata)
		}
	}
}

// TestMetadataSaysWhatIsWrong: who wrote it learns where it stops being JSON, or that it is JSON of
// another form. What is not UTF-8 would be stored as other text than it was [K1].
func TestMetadataSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":}`:           "it is not JSON (byte 6)",
		`[]`:               `is not a JSON object, such as {"dataset":"a"}`,
		"{\"a\":\"\xff\"}": "it is not UTF-8",
	} {
		if got, err := operation.ParseMetadata([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseMetadata(%q) = %q, %v, want the error %q", text, got, err, want)
		}
	}
}

// TestMetadataAdd: a second registration may add fields, but never change one.
func TestMetadataAdd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		about             string
		has, adding, want operation.Metadata
	}{
		{"nothing to nothing", "", "", ""},
		{"something to nothing", "", `{"a":1}`, `{"a":1}`},
		{"nothing to something", `{"a":1}`, "", `{"a":1}`},
		{"null to something", `{"a":1}`, "null", `{"a":1}`},
		{"something to null", "null", `{"a":1}`, `{"a":1}`},
		{"another field", `{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`},
		{"the same field", `{"a":1}`, `{"a":2}`, `{"a":1}`},
		{"one of each", `{"a":1,"b":1}`, `{"b":2,"c":2}`, `{"a":1,"b":1,"c":2}`},
		{"null is a value", `{"a":null}`, `{"a":1}`, `{"a":null}`},
		{"fields within are not merged", `{"a":{"x":1}}`, `{"a":{"y":2}}`, `{"a":{"x":1}}`},
		{"case tells fields apart", `{"a":1}`, `{"A":2}`, `{"A":2,"a":1}`},
		{"untouched where nothing is new", `{"b":1,"a":2}`, `{"a":3}`, `{"b":1,"a":2}`},
		{"a number that no float holds", `{"a":1}`, `{"id":12345678901234567890}`, `{"a":1,"id":12345678901234567890}`},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			got, err := tt.has.Add(tt.adding)
			if err != nil || got != tt.want {
				t.Fatalf("%q.Add(%q) = %q, %v, want %q", tt.has, tt.adding, got, err, tt.want)
			}
			if again, err := got.Add(tt.adding); err != nil || again != got {
				t.Errorf("added once more, it is %q, %v", again, err)
			}
		})
	}
}

// TestRecordRoundTrip: a record survives JSON unchanged, with its metadata as a readable object
// [G4].
func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	for about, want := range map[string]operation.Record{
		"complete": complete(),
		"zero":     {},
		"new":      record(operation.Pending, missing),
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got operation.Record
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want.Metadata != "" && !strings.Contains(string(text), `"metadata":`+string(want.Metadata)) {
				t.Errorf("metadata is not an object in %s", text)
			}
			// Absent is not null, and what waits for nothing has no dueAt [L4].
			for _, name := range []string{"dueAt", "expireAt", "settledAt", "metadata", "result", "effects"} {
				if has := strings.Contains(string(text), `"`+name+`"`); has != (about == "complete") {
					t.Errorf("%s is there: %v, in %s", name, has, text)
				}
			}
		})
	}
}

// TestMetadataInAPayload: empty metadata is null where a document always has the field.
func TestMetadataInAPayload(t *testing.T) {
	t.Parallel()
	type payload struct {
		Metadata operation.Metadata `json:"metadata"`
	}
	for _, tt := range []struct {
		metadata operation.Metadata
		want     string
	}{
		{"", `{"metadata":null}`},
		{`{"a":1}`, `{"metadata":{"a":1}}`},
	} {
		text, err := json.Marshal(payload{tt.metadata})
		if err != nil || string(text) != tt.want {
			t.Errorf("%q is %s, %v, want %s", tt.metadata, text, err, tt.want)
		}
		var back payload
		if err := json.Unmarshal([]byte(tt.want), &back); err != nil || back.Metadata != tt.metadata {
			t.Errorf("%s is %q, %v, want %q", tt.want, back.Metadata, err, tt.metadata)
		}
	}
	if text, err := json.Marshal(payload{"{"}); err == nil {
		t.Errorf("broken metadata was written: %s", text)
	}
}

// TestMetadataCompare: the fields of a second registration are missing, equal in whatever form, or
// different.
func TestMetadataCompare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mine, other        operation.Metadata
		missing, different []string
	}{
		{"", "", nil, nil},
		{`{"a":1}`, "", nil, nil},
		{"", `{"b":1,"a":1}`, []string{"a", "b"}, nil},
		{`{"a":{"x":1,"y":[1,2]}}`, `{"a":{"y":[1,2],"x":1}}`, nil, nil},
		{`{"a":"\u0041","b":1}`, `{"a":"A","b":1.0,"c":null}`, []string{"c"}, []string{"b"}},
		{`{"a":[1,2],"b":12345678901234567890,"c":null}`, `{"a":[2,1],"b":12345678901234567891,"c":0}`, nil,
			[]string{"a", "b", "c"}},
	} {
		missing, different, err := tt.mine.Compare(tt.other)
		if err != nil || !cmp.Equal(missing, tt.missing) || !cmp.Equal(different, tt.different) {
			t.Errorf("%s against %s: missing %v, different %v, %v, want %v and %v", tt.other, tt.mine, missing, different, err,
				tt.missing, tt.different)
		}
	}
	for _, pair := range [][2]operation.Metadata{{"[]", `{"a":1}`}, {`{"a":1}`, "[]"}} {
		if _, _, err := pair[0].Compare(pair[1]); !errors.Is(err, operation.ErrMetadata) {
			t.Errorf("%q against %q: %v, want ErrMetadata", pair[1], pair[0], err)
		}
	}
}
