package operation_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

func said() operation.Submission {
	return operation.Submission{
		CorrelationID: "c-1", JobKind: "nightly", Metadata: `{"a":1,"b":2}`,
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
	}
}

// TestFill: the first value of a field stays, and every field that is missing is filled [L2].
func TestFill(t *testing.T) {
	t.Parallel()
	other := operation.Submission{CorrelationID: "c-2", JobKind: "daily", Metadata: `{"c":3}`, TraceParent: parent}
	if got := said().Fill(other); got != said() {
		t.Errorf("%+v, want what was there", got)
	}
	got := operation.Submission{}.Fill(other)
	if got != other {
		t.Errorf("%+v, want %+v", got, other)
	}
	for v, i := reflect.ValueOf(got), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("%s is not in this test", v.Type().Field(i).Name)
		}
	}
}

// TestCompare: a field that is missing and one that differs are named; one that is not given is
// neither.
func TestCompare(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		known, given       operation.Submission
		missing, different []string
	}{
		"the same": {said(), said(), nil, nil},
		"nothing":  {said(), operation.Submission{}, nil, nil},
		"the first": {
			operation.Submission{}, said(), []string{"jobKind", "correlationId", "metadata.a", "metadata.b"}, nil,
		},
		"another": {
			said(), operation.Submission{CorrelationID: "c-2", JobKind: "x"}, nil, []string{"jobKind", "correlationId"},
		},
		"other data": {
			said(), operation.Submission{Metadata: `{"a":0,"c":3}`}, []string{"metadata.c"}, []string{"metadata.a"},
		},
		"spaced data": {said(), operation.Submission{Metadata: `{"b": 2, "a":1}`}, nil, nil},
	} {
		missing, different, err := c.known.Compare(c.given)
		if err != nil || !slices.Equal(missing, c.missing) || !slices.Equal(different, c.different) {
			t.Errorf("%s: missing %q, different %q, %v; want %q and %q", name, missing, different, err, c.missing, c.different)
		}
	}
	if _, _, err := said().Compare(operation.Submission{Metadata: "["}); !errors.Is(err, operation.ErrMetadata) {
		t.Errorf("%v, want ErrMetadata", err)
	}
}

// TestValidate: every problem is named with its field, as callers write it; the bounds are allowed.
func TestValidate(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", operation.MaxLabelBytes)
	most := operation.Metadata(`{"a":"` + strings.Repeat("x", operation.MaxMetadataBytes-len(`{"a":""}`)) + `"}`)
	valid := operation.Submission{CorrelationID: long, JobKind: long, Metadata: most}
	for _, s := range []operation.Submission{{}, said(), valid, {JobKind: "a\uFFFD"}} {
		if err := s.Validate().Err(); err != nil {
			t.Errorf("%.50v: %v", s, err)
		}
	}
	for field, s := range map[string]operation.Submission{
		"correlationId: 257 bytes":      {CorrelationID: long + "x"},
		"correlationId: it has U+FFFD":  {CorrelationID: "a\xff"},
		"jobKind: 257 bytes":            {JobKind: long + "x"},
		`jobKind: "a\xff" is not UTF-8`: {JobKind: "a\xff"},
		"metadata: 65537 bytes":         {Metadata: most + " "},
		"metadata: metadata is not":     {Metadata: "[1]"},
	} {
		problems := s.Validate()
		err := problems.Err()
		if len(problems) != 1 || !errors.Is(err, operation.ErrSubmission) || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%v, want %s", err, field)
		}
		if wrong := s.Metadata == "[1]"; errors.Is(err, operation.ErrMetadata) != wrong {
			t.Errorf("%v: ErrMetadata %v", err, !wrong)
		}
	}
}

// TestSubmissionIsFlat: its fields stand at the top of what embeds it [L5].
func TestSubmissionIsFlat(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(operation.Record{Submission: said()})
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil || fields["jobKind"] != "nightly" || fields["correlationId"] != "c-1" || fields["metadata"] == nil {
		t.Errorf("%s, %v", text, err)
	}
}
