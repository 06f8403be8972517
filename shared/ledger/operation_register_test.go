package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestMerge: what was registered first stands, and what it left open is added [L2].
func TestMerge(t *testing.T) {
	t.Parallel()
	l, now := newLedger(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	name := operation.Name{Key: "batches/a", Resource: "projects/p/batches/a"}
	first, err := l.merge(operation.Record{}, Registration{
		Name: name, Submission: operation.Submission{JobKind: "kind", CorrelationID: "c"}, SubmittedAt: now.Add(-time.Minute),
	}, now)
	due := now.Add(l.Settings().Grace - time.Minute)
	if err != nil || !first.Registered || first.Name != name.Resource || first.JobKind != "kind" ||
		first.CorrelationID != "c" || !first.SubmittedAt.Equal(now.Add(-time.Minute)) || !first.DueAt.Equal(due) {
		t.Fatalf("%+v, %v", first, err)
	}
	first.DueAt = now.Add(time.Hour)
	other := Registration{
		Name:       operation.Name{Key: name.Key, Resource: "batches/a"},
		Submission: operation.Submission{JobKind: "other", CorrelationID: "d"}, SubmittedAt: now,
	}
	again, err := l.merge(first, other, now.Add(time.Second))
	if err != nil || again.Name != name.Resource || again.JobKind != "kind" || again.CorrelationID != "c" ||
		!again.SubmittedAt.Equal(first.SubmittedAt) || !again.DueAt.Equal(first.DueAt) {
		t.Errorf("registered again: %+v, %v", again, err)
	}
	bare := first
	bare.JobKind, bare.CorrelationID, bare.SubmittedAt = "", "", time.Time{}
	if added, err := l.merge(bare, other, now); err != nil || added.JobKind != "other" || added.CorrelationID != "d" ||
		!added.SubmittedAt.Equal(now) {
		t.Errorf("what was left open: %+v, %v", added, err)
	}
	for what, rec := range map[string]operation.Record{
		"settled":   {Key: name.Key, State: operation.Succeeded},
		"abandoned": {Key: name.Key, State: operation.Running, Abandoned: &operation.Decided{}},
	} {
		if merged, err := l.merge(rec, other, now); err != nil || !merged.DueAt.IsZero() {
			t.Errorf("%s, it is due at %v, %v", what, merged.DueAt, err)
		}
	}
}

// TestLargestMetadata: the bound is on all of it together, and is itself allowed.
func TestLargestMetadata(t *testing.T) {
	t.Parallel()
	l, largest := newLedger(t), operation.MaxMetadataBytes-len(`{"a":""}`)
	for more, want := range map[int]error{0: nil, 1: operation.ErrSubmission} {
		text := operation.Metadata(`{"a":"` + strings.Repeat("x", largest+more) + `"}`)
		_, err := l.merge(operation.Record{}, Registration{Submission: operation.Submission{Metadata: text}}, time.Unix(1, 0))
		if !errors.Is(err, want) {
			t.Errorf("registered with %d bytes: %v", len(text), err)
		}
		if err := (Intention{
			Submission: operation.Submission{CorrelationID: "c", Metadata: text},
		}).Validate().Err(); !errors.Is(err, want) {
			t.Errorf("intended with %d bytes: %v", len(text), err)
		}
	}
}

// TestTell: the record is told of progress that is new, once in so long.
func TestTell(t *testing.T) {
	t.Parallel()
	l, now := newLedger(t), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	effect := Effect{Name: "a", Progress: &ItemProgress{Done: 2, Total: 3}}
	told := operation.Record{ProgressAt: now.Add(-progressEvery)}
	for what, test := range map[string]struct {
		token Token
		rec   operation.Record
		now   time.Time
		want  int
	}{
		"after a second":    {"1", told, now, 1},
		"before":            {"1", told, now.Add(-1), 0},
		"known":             {"1", told.WithProgress("a", effect.Progress.counts(), now.Add(-progressEvery)), now, 0},
		"no record is left": {"", told, now, 0},
	} {
		doc := Document{Path: "operations/a", Token: test.token}
		if got := l.writeProgress(doc, test.rec, effect, test.now, progressEvery); len(
			got) != test.want {
			t.Errorf("%s: %d writes, want %d", what, len(got), test.want)
		}
	}
}
