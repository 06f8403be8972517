package results_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect/kinds"
	effectresults "github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// TestObjectNames: different operations and effects have different objects, whatever characters an
// id has, and every tool accepts their names.
func TestObjectNames(t *testing.T) {
	t.Parallel()
	if got := effectresults.ObjectName("batches/aB-1_2.x", "keep@fix-1"); got != "batches/aB-1_2.x/keep@fix-1.jsonl" {
		t.Error(got)
	}
	safe := regexp.MustCompile(`^batches/[A-Za-z0-9_-][A-Za-z0-9._@~-]*/keep\.jsonl$`)
	names := map[string]string{}
	long := strings.Repeat("x", 250)
	for _, id := range []string{
		"a", "A", "a b", "a_b", "a%20b", "a#b", "a?b", ".", "..", ".a", "ä", "a:b", "a~b", "\xff", "a\nb", long, long +
			"y", strings.Repeat("é", 500),
	} {
		got := effectresults.ObjectName(operation.Key("batches/"+id), "keep")
		if other, taken := names[got]; taken || !safe.MatchString(got) || len(got) > 300 {
			t.Errorf("%q: %s, as %q", id, got, other)
		}
		names[got] = id
	}
}

// TestBucketSpecs: which settings an effect that writes to a bucket may have.
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
		`bucket: "gs://abc", each: item`:                      "remove each",
		`timeout: 1s`:                                         "a bucket",
	} {
		specs, err := kinds.ParseSpecs([]byte("[{name: keep, on: [SUCCEEDED], do: results, "+text+"}]"),
			operation.Transitions{})
		switch {
		case want == "":
			handlers, handlersErr := kinds.Handlers(specs, kinds.Options{Buckets: storage.NewBuckets("")})
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
		if _, err := kinds.ParseSpecs([]byte("[{name: keep, "+text+"}]"), operation.Transitions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %s", text, err, want)
		}
	}
}
