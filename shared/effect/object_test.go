package effect_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/storagesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestResultsObject: the whole result is one object, an item a line in Gemini's own words, with what it is in its metadata.
func TestResultsObject(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, lines(`{"key":"review-17","response":{"text":"<good>"}}`, `{"key":"b","error":{"code":3}}`, `null`))
	w.result.Counts = &operation.Counts{Total: 3}
	w.end()
	w.attempt(effect.Finished)
	object := w.holds(3)
	if want := `{"key":"review-17","index":0,"response":{"text":"<good>"}}
{"key":"b","index":1,"error":{"code":3}}
{"key":"index-2","index":2,"error":{"message":"opledger: the item cannot be used: it is null"}}
`; string(object.Content) != want {
		t.Errorf("%s", object.Content)
	}
	if object.ContentType != "application/x-ndjson" {
		t.Errorf("%s", object.ContentType)
	}
	for name, want := range map[string]string{
		"opledger-operation": "batches/abc", "opledger-effect": "publish", "opledger-idempotency-key": "gemini:batches/abc#publish",
		"opledger-fence": "1", "opledger-items": "3",
	} {
		if object.Metadata[name] != want {
			t.Errorf("%s is %q, want %q", name, object.Metadata[name], want)
		}
	}
	if said := w.log.String(); !strings.Contains(said, "gs://results-of-reviews/"+objectName) || !strings.Contains(said, "found=false items=3 failed=2") {
		t.Errorf("%s", said)
	}
	w.attempt(effect.Skipped)
}

// TestResultsObjectInline: an item that came on several lines is one, and an empty result is an empty object.
func TestResultsObjectInline(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, lines("{\"response\": {\"inlinedResponses\": {\"inlinedResponses\": [{\n \"metadata\": {\"key\": \"a\"},\n\"response\": {\n\"text\": \"x\\ny\"\n}}]}}}"))
	w.result = operation.Result{Inline: true}
	w.end()
	w.attempt(effect.Finished)
	if object := w.holds(1); string(object.Content) != `{"key":"a","index":0,"response":{"text":"x\ny"}}`+"\n" {
		t.Errorf("%s", object.Content)
	}
	w = newBucketWorld(t, lines())
	w.end()
	w.attempt(effect.Finished)
	w.holds(0)
}

// TestResultsObjectRerun: a run anew writes an object of its own beside the first; one that was deleted is not written again by a
// message for what is done [G5].
func TestResultsObjectRerun(t *testing.T) {
	t.Parallel()
	w := newBucketWorld(t, many(3))
	w.end()
	w.attempt(effect.Finished)
	first := w.holds(3)
	report, err := w.process(w.store).Run(t.Context(), ledger.Message{Operation: w.key, Effect: name, Rerun: "fix-1", ID: "m-1", By: "ada"})
	if err != nil || report.Outcome != effect.Finished {
		t.Fatalf("%+v %v", report, err)
	}
	anew := w.sim.Object(bucket, "nightly/batches/abc/publish@fix-1.jsonl")
	if !bytes.Equal(anew.Content, first.Content) || anew.Metadata["opledger-idempotency-key"] != "gemini:batches/abc#publish@fix-1" {
		t.Errorf("%v %s", anew.Metadata, anew.Content)
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

// TestObjectNames: different operations and effects have different objects, whatever a provider puts into an id, and every tool takes
// their names.
func TestObjectNames(t *testing.T) {
	t.Parallel()
	if got := effect.ObjectName("batches/aB-1_2.x", "keep@fix-1"); got != "batches/aB-1_2.x/keep@fix-1.jsonl" {
		t.Error(got)
	}
	safe := regexp.MustCompile(`^batches/[A-Za-z0-9_-][A-Za-z0-9._@~-]*/keep\.jsonl$`)
	names := map[string]string{}
	long := strings.Repeat("x", 250)
	for _, id := range []string{
		"a", "A", "a b", "a_b", "a%20b", "a#b", "a?b", ".", "..", ".a", "ä", "a:b", "a~b", "\xff", "a\nb", long, long + "y", strings.Repeat("é", 500),
	} {
		got := effect.ObjectName(operation.Key("batches/"+id), "keep")
		if other, taken := names[got]; taken || !safe.MatchString(got) || len(got) > 300 {
			t.Errorf("%q: %s, as %q", id, got, other)
		}
		names[got] = id
	}
}

// TestResultsObjectMemory: what is held of 10,000 items of 2 KB each is a chunk, and does not grow with their number.
func TestResultsObjectMemory(t *testing.T) { // not parallel: it looks at the whole heap
	sim := storagesim.Start(storagesim.Config{Buckets: []string{bucket}, ChecksumsOnly: true})
	defer sim.Close()
	w := &bucketWorld{itemsWorld: newItemsWorld(t, many(10_000, 2_000)), sim: sim, buckets: effect.NewBuckets(sim.Addr())}
	w.end()
	peak := held(t, func(look func()) {
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

// TestBucketSpecs: what the settings of an effect that writes to a bucket may say.
func TestBucketSpecs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`bucket: "gs://abc"`:                                  "",
		`bucket: "gs://abc/"`:                                 "",
		`bucket: "gs://my.bucket_1/a-b/kind=x/2026.11_1"`:     "",
		`bucket: "gs://abc/a/"`:                               "",
		`bucket: abc`:                                         "gs://BUCKET",
		`bucket: "gs://"`:                                     "gs://BUCKET",
		`bucket: "gs://Abc/a"`:                                "a bucket's name has 3 to 222",
		`bucket: "gs://abc//a"`:                               "a prefix has at most 399",
		`bucket: "gs://abc/../a"`:                             "a prefix has at most 399",
		`bucket: "gs://abc/a b"`:                              "a prefix has at most 399",
		`bucket: "gs://abc/` + strings.Repeat("a", 400) + `"`: "a prefix has at most 399",
		`bucket: "gs://abc", collection: reviews`:             "make two effects",
		`bucket: "gs://abc", each: item`:                      "leave each out",
		`timeout: 1s`:                                         "a bucket",
	} {
		specs, err := effect.ParseSpecs([]byte("[{name: keep, on: [SUCCEEDED], do: results, "+text+"}]"), operation.Transitions{})
		switch {
		case want == "":
			handlers, handlersErr := effect.Handlers(specs, effect.HandlerOptions{Buckets: effect.NewBuckets("")})
			if err != nil || handlersErr != nil || specs[0].EachItem() || !specs[0].FetchesResults() || handlers["keep"] == nil {
				t.Errorf("%s: %v, %v", text, err, handlersErr)
			}
		case err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `effect "keep"`):
			t.Errorf("%s: %v, want it to say %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`do: log, on: [SUCCEEDED], bucket: "gs://abc"`:  "bucket is for do: results",
		`do: results, on: [FAILED], bucket: "gs://abc"`: "[SUCCEEDED]",
	} {
		if _, err := effect.ParseSpecs([]byte("[{name: keep, "+text+"}]"), operation.Transitions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %s", text, err, want)
		}
	}
}
