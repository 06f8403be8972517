package results_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/itemworld"
)

func record(w *itemworld.World) operation.Record {
	w.Helper()
	rec, err := w.Over(w.Store).Operations.Read(w.Context(), w.Key)
	if err != nil {
		w.Fatal(err)
	}
	return rec
}

// stored reads what the effect of a world has written.
func stored(w *itemworld.World, do *results.Do, emulator string) (string, results.Copied, error) {
	w.Helper()
	var out bytes.Buffer
	copied, err := results.CopyStored(w.Context(), &out, results.Stored{
		Ledger: w.Over(w.Store).Reading(), Emulator: emulator,
		Effects: []spec.Spec{{Name: "another", Do: do}, {Name: itemworld.Name, Do: do}},
	}, record(w))
	if lines := int64(strings.Count(out.String(), "\n")); err == nil && copied.Lines != lines {
		w.Errorf("%d lines are counted as %d", lines, copied.Lines)
	}
	return out.String(), copied, err
}

// TestCopyStoredDocuments: the documents of a collection are read as lines, each once, over many pages; before the
// effect is DONE none is.
func TestCopyStoredDocuments(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(50)).End()
	do := &results.Do{Collection: "reviews"}
	if text, copied, err := stored(w, do, ""); copied.Found || err != nil || text != "" {
		t.Errorf("before the effect: %q, %v, %v", text, copied, err)
	}
	report, err := w.Runner(w.Store, results.Documents("reviews")).Run(t.Context(), w.Message())
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	text, copied, err := stored(w, do, "")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if !copied.Found || err != nil || len(lines) != 50 {
		t.Fatalf("%d lines, %v, %v", len(lines), copied, err)
	}
	slices.Sort(lines)
	if lines = slices.Compact(lines); len(lines) != 50 {
		t.Errorf("%d different lines", len(lines))
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, `{"key":"review-`) || !strings.Contains(line, `,"response":{`) {
			t.Errorf("%.60s", line)
		}
	}
	if !copied.Whole(50) || !copied.Whole(0) || copied.Whole(51) {
		t.Errorf("whole: %+v", copied)
	}
	if text, copied, err := stored(w, &results.Do{Collection: "moved"}, ""); copied.Found || err != nil || text != "" {
		t.Errorf("of a collection without documents: %q, %v, %v", text, copied, err)
	}
	if _, err := results.CopyStored(t.Context(), broken{}, results.Stored{
		Ledger: w.Over(w.Store).Reading(), Effects: []spec.Spec{{Name: itemworld.Name, Do: do}},
	}, record(w)); !errors.Is(err, errBroken) {
		t.Errorf("a reader that is gone: %v", err)
	}
}

// TestCopyStoredDeleted: a document that was deleted is counted, so that what is left is not taken for the whole.
func TestCopyStoredDeleted(t *testing.T) {
	t.Parallel()
	w := itemworld.New(t, itemworld.Many(20)).End()
	if report, err := w.Runner(w.Store, results.Documents("reviews")).Run(t.Context(), w.Message()); err != nil ||
		report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	for _, item := range []string{"review-0", "review-18"} {
		path := ledger.ResultPath("reviews", w.Key, item)
		found, err := w.Store.Get(t.Context(), path)
		if err != nil || !found.Documents[0].Exists() {
			t.Fatalf("%s: %v", path, err)
		}
		if _, err := w.Store.Commit(t.Context(), ledger.Write{Path: path, Token: found.Documents[0].Token}); err != nil {
			t.Fatal(err)
		}
	}
	_, copied, err := stored(w, &results.Do{Collection: "reviews"}, "")
	if want := (results.Copied{Found: true, Lines: 18, Deleted: 2}); err != nil || copied != want || copied.Whole(0) {
		t.Errorf("%+v, %v, want %+v", copied, err, want)
	}
}

var errBroken = errors.New("the reader has disconnected")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// TestCopyStoredObject: the object of a bucket is read as it is; one that was moved is not found.
func TestCopyStoredObject(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, itemworld.Many(several, 1000))
	w.End()
	w.attempt(effect.Finished)
	do := &results.Do{Bucket: "gs://" + bucket + "/nightly/"}
	text, copied, err := stored(w.World, do, w.sim.Addr())
	if !copied.Found || err != nil || text != string(w.holds(several).Content) {
		t.Errorf("%d bytes, %v, %v", len(text), copied, err)
	}
	moved := &results.Do{Bucket: "gs://" + bucket + "/moved"}
	if text, copied, err := stored(w.World, moved, w.sim.Addr()); copied.Found || err != nil || text != "" {
		t.Errorf("what was moved: %q, %v, %v", text, copied, err)
	}
	w.sim.Close()
	if _, copied, err := stored(w.World, do, w.sim.Addr()); copied.Found || err == nil {
		t.Errorf("Cloud Storage is away: %v, %v", copied, err)
	}
}
