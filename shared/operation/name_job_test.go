package operation_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

func TestJobKey(t *testing.T) {
	key, err := operation.JobKey("nightly-2026_11")
	if err != nil || key != "jobs/nightly-2026_11" || key.Collection() != operation.Jobs {
		t.Errorf("%q, %v", key, err)
	}
	for _, bad := range []string{"", "-a", "a/b", "a.b", "ü", strings.Repeat("a", 65)} {
		if _, err := operation.JobKey(bad); !errors.Is(err, operation.ErrJobID) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestParsePart(t *testing.T) {
	key := operation.PartKey("jobs/nightly", 12)
	of, number, ok := operation.ParsePart(string(key))
	if key != "jobs/nightly/00012" || !ok || of != "jobs/nightly" || number != 12 {
		t.Errorf("%q: %q, %d, %v", key, of, number, ok)
	}
	if _, number, ok := operation.ParsePart("jobs/nightly/00001"); !ok || number != 1 {
		t.Errorf("the first: %d, %v", number, ok)
	}
	if _, number, ok := operation.ParsePart("jobs/nightly/123456"); !ok || number != 123456 {
		t.Errorf("a number of six digits: %d, %v", number, ok)
	}
	for _, other := range []string{
		"", "jobs", "jobs/nightly", "jobs/nightly/12", "jobs/nightly/000012", "jobs/nightly/00000", "jobs/nightly/x",
		"batches/nightly/00012", "jobs/a.b/00012", "jobs//00012", "jobs/a/00001/00012", "Jobs/nightly/00012",
	} {
		if _, _, ok := operation.ParsePart(other); ok {
			t.Errorf("%q is a part", other)
		}
	}
}

func TestReserved(t *testing.T) {
	for text, want := range map[string]bool{
		"jobs/a": true, "Jobs/a/00001": true, "/jobs/": true, "jobs": false, "nightly": false, "batches/jobs": false,
	} {
		if got := operation.Reserved(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// An id that was only seen in a delivery makes no part's batch: anyone may write one.
func TestIsPart(t *testing.T) {
	r := operation.Record{Registered: true}
	r.CorrelationID = "jobs/nightly/00012"
	if !r.IsPart() {
		t.Error("a registered batch with a part's id")
	}
	if r.Registered = false; r.IsPart() {
		t.Error("an unregistered one")
	}
	if r.Registered, r.CorrelationID = true, "nightly-2026-11-24"; r.IsPart() {
		t.Error("a registered batch with another id")
	}
}

// An id that a submitter may not use is a problem of its submission, so that a caller is not told to try again.
func TestReservedCorrelationID(t *testing.T) {
	s := operation.Submission{CorrelationID: "jobs/nightly/00012"}
	if err := s.Validate().Err(); !errors.Is(err, operation.ErrReserved) || !errors.Is(err, operation.ErrSubmission) {
		t.Errorf("%v", err)
	}
	if s.CorrelationID = "nightly/00012"; s.Validate() != nil {
		t.Errorf("%v", s.Validate())
	}
}
