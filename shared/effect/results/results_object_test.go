package results_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
	"github.com/opledger/opledger/test/itemworld"
)

// TestResultsObject: the whole result is one object, an item a line in Gemini's own words, with
// what it is in its metadata.
func TestResultsObject(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, itemworld.Lines(
		`{"key":"review-17","response":{"text":"<good>"}}`, `{"key":"b","error":{"code":3}}`, `null`))
	w.Result.Counts = &operation.Counts{Total: 3}
	w.End()
	w.attempt(effect.Finished)
	object := w.holds(3)
	if want := `{"key":"review-17","index":0,"response":{"text":"<good>"}}
{"key":"b","index":1,"error":{"code":3}}
{"index":2,"error":{"message":"opledger: the item cannot be used: it is null"}}
`; string(object.Content) != want {
		t.Errorf("%s", object.Content)
	}
	if object.ContentType != "application/x-ndjson" {
		t.Errorf("%s", object.ContentType)
	}
	for name, want := range map[string]string{
		"opledger-operation": "batches/abc", "opledger-effect": "publish",
		"opledger-idempotency-key": "gemini:batches/abc#publish",
		"opledger-fence":           "1", "opledger-items": "3",
	} {
		if object.Metadata[name] != want {
			t.Errorf("%s is %q, want %q", name, object.Metadata[name], want)
		}
	}
	if logged := w.Logged.String(); !strings.Contains(logged, "gs://results-of-reviews/"+objectName) ||
		!strings.Contains(logged, "found=false items=3 failed=2") {
		t.Errorf("%s", logged)
	}
	w.attempt(effect.Skipped)
}

// TestResultsObjectInline: an item that came on several lines is one, and an empty result is an
// empty object.
func TestResultsObjectInline(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, itemworld.Lines(
		"{\"response\": {\"inlinedResponses\": {\"inlinedResponses\": [{\n \"metadata\": "+
			"{\"key\": \"a\"},\n\"response\": {\n\"text\": \"x\\ny\"\n}}]}}}"))
	w.Result = operation.Result{Inline: true}
	w.End()
	w.attempt(effect.Finished)
	if object := w.holds(1); string(object.Content) != `{"key":"a","index":0,"response":{"text":"x\ny"}}`+"\n" {
		t.Errorf("%s", object.Content)
	}
	w = newBucketWorld(t, itemworld.Lines())
	w.Result.Counts = &operation.Counts{}
	w.End()
	w.attempt(effect.Finished)
	w.holds(0)
}

// TestResultsObjectRerun: a rerun writes an object of its own beside the first. A deleted object is
// not written again by a message about a finished effect [G5].
func TestResultsObjectRerun(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, itemworld.Many(3))
	w.End()
	w.attempt(effect.Finished)
	first := w.holds(3)
	report, err := w.process(w.Store).Run(t.Context(), ledger.Message{
		Operation: w.Key, Effect: itemworld.Name, Rerun: "fix-1", ID: "m-1", By: "ada",
	})
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	rerun := w.sim.Object(bucket, "nightly/batches/abc/publish@fix-1.jsonl")
	if !bytes.Equal(rerun.Content, first.Content) ||
		rerun.Metadata["opledger-idempotency-key"] != "gemini:batches/abc#publish@fix-1" {
		t.Errorf("%v %s", rerun.Metadata, rerun.Content)
	}
	if again := w.sim.Object(bucket, objectName); again.Generation != first.Generation {
		t.Errorf("the first was written again: %+v", again)
	}
	w.sim.Delete(bucket, objectName)
	w.attempt(effect.Skipped)
	if names := w.sim.Names(); len(names) != 1 {
		t.Errorf("%v", names)
	}
}

// TestResultsObjectMemory: the memory for 10,000 items of 2 KB each is a chunk, and does not grow
// with their number.
func TestResultsObjectMemory(t *testing.T) { // not parallel: it measures the whole heap
	sim := storagesim.Start(storagesim.Config{Buckets: []string{bucket}, ChecksumsOnly: true})
	defer sim.Close()
	w := &bucketWorld{
		World: itemworld.New(t, itemworld.Many(10_000, 2_000)), sim: sim, buckets: storage.NewBuckets(sim.Addr()),
	}
	w.End()
	peak := itemworld.Held(t, func(look func()) {
		for range 4 {
			sim.Before(storagesim.Chunk, look)
		}
		w.attempt(effect.Finished)
	})
	t.Logf("20 MB of results, at most %d KiB held", peak>>10)
	if object := sim.Object(bucket, objectName); object.Size < 20_000_000 || peak > 12<<20 {
		t.Errorf("%d bytes in the object, %d held", object.Size, peak)
	}
}

// TestResultsObjectZombie: an upload that stalls until its successor has finished makes nothing,
// and its worker cannot commit [S6].
func TestResultsObjectZombie(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, itemworld.Many(several, 1000))
	w.End()
	stalled, awake := make(chan struct{}), make(chan struct{})
	w.sim.Before(storagesim.Last, func() {
		close(stalled)
		<-awake
	})
	zombie := make(chan effect.Outcome)
	go func() {
		report, err := w.process(w.Store).Run(t.Context(), w.Message())
		if err != nil {
			t.Errorf("the zombie: %v", err)
		}
		zombie <- report.Outcome
	}()
	<-stalled
	w.Store.Advance(ledger.DefaultSettings().ClaimTTL + time.Second)
	w.attempt(effect.Finished)
	close(awake)
	if outcome := <-zombie; outcome != effect.LeaseLost {
		t.Errorf("the zombie: %s", outcome)
	}
	if object := w.holds(several); object.Metadata["opledger-fence"] != "2" {
		t.Errorf("%v", object.Metadata)
	}
}
