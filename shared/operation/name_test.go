package operation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/operation"
)

// names has one row per form of a name that was seen in an API, an SDK or a terminal.
var names = []struct {
	about    string
	raw      string
	fallback operation.Collection
	key      operation.Key
	resource string // empty: as raw
}{
	// Every collection, as the API gives it [K2].
	{about: "operation", raw: "operations/abc-123", key: "operations/abc-123"},
	{about: "batch", raw: "batches/abc123", key: "batches/abc123"},
	{about: "batch job", raw: "batchJobs/42", key: "batchJobs/42"},
	{about: "batch prediction job", raw: "batchPredictionJobs/42", key: "batchPredictionJobs/42"},
	{about: "interaction", raw: "interactions/v1_ChdOdXRo", key: "interactions/v1_ChdOdXRo"},

	// Prefixes [K1], which requests to the API keep [K5].
	{about: "project and location", raw: "projects/p/locations/us/operations/abc-123", key: "operations/abc-123"},
	{about: "model", raw: "models/veo-3.1-generate-preview/operations/9p5u", key: "operations/9p5u"},
	{about: "model, before a batch", raw: "models/m/batches/x", key: "batches/x"},
	{about: "batch prediction job of a project", raw: "projects/1/locations/us-central1/batchPredictionJobs/7",
		key: "batchPredictionJobs/7"},
	{about: "the last collection counts", raw: "batchPredictionJobs/1/operations/2", key: "operations/2"},
	{about: "leading slash", raw: "/batches/abc", key: "batches/abc"},
	{about: "doubled slash", raw: "operations//abc", key: "operations/abc"},
	{about: "host without a scheme", raw: "generativelanguage.googleapis.com/v1beta/batches/abc", key: "batches/abc"},

	// White space and slashes around it [K1].
	{about: "trailing slash", raw: "operations/abc-123/", key: "operations/abc-123", resource: "operations/abc-123"},
	{about: "trailing slashes", raw: "batches/abc///", key: "batches/abc", resource: "batches/abc"},
	{about: "white space", raw: " \t\r\n batches/abc \n", key: "batches/abc", resource: "batches/abc"},
	{about: "white space behind a slash", raw: "batches/abc/ ", key: "batches/abc", resource: "batches/abc"},
	{about: "slash behind white space", raw: "batches/abc /", key: "batches/abc", resource: "batches/abc"},
	{about: "slashes and white space in turn", raw: "batches/abc/ / /", key: "batches/abc", resource: "batches/abc"},
	{about: "wide white space", raw: "\u00a0\u3000batches/abc\u2028", key: "batches/abc", resource: "batches/abc"},
	{about: "all at once", raw: "\n projects/p/locations/us/OPERATIONS/abc-123// ", key: "operations/abc-123",
		resource: "projects/p/locations/us/OPERATIONS/abc-123"},

	// API URLs [K1]; requests to the API have the name alone [K5].
	{about: "URL", raw: "https://generativelanguage.googleapis.com/v1beta/batches/abc", key: "batches/abc",
		resource: "batches/abc"},
	{about: "URL, stable version", raw: "https://generativelanguage.googleapis.com/v1/operations/abc",
		key: "operations/abc", resource: "operations/abc"},
	{about: "URL, numbered alpha", raw: "https://h/v1alpha2/operations/abc", key: "operations/abc",
		resource: "operations/abc"},
	{about: "URL without a version", raw: "https://h/operations/abc", key: "operations/abc", resource: "operations/abc"},
	{about: "URL with a port", raw: "http://127.0.0.1:8080/v1beta/batches/abc", key: "batches/abc",
		resource: "batches/abc"},
	{about: "URL with a key in its query", raw: "https://h/v1beta/batches/abc?key=secret&alt=json", key: "batches/abc",
		resource: "batches/abc"},
	{about: "URL with a slash before its query", raw: "https://h/v1beta/batches/abc/?alt=json", key: "batches/abc",
		resource: "batches/abc"},
	{about: "URL with a fragment", raw: "https://h/v1beta/batches/abc#top", key: "batches/abc", resource: "batches/abc"},
	{about: "URL of a model's operation", raw: "https://h/v1beta/models/veo/operations/9p5u", key: "operations/9p5u",
		resource: "models/veo/operations/9p5u"},
	{about: "URL with an escape", raw: "https://h/v1beta/interactions/a%2Db", key: "interactions/a-b",
		resource: "interactions/a-b"},
	{about: "escaped white space in a URL", raw: "https://h/v1beta/batches/abc%20/%20", key: "batches/abc",
		resource: "batches/abc"},
	{about: "no URL: nothing in front of the colon", raw: "://h/batches/abc", key: "batches/abc",
		resource: "://h/batches/abc"},
	{about: "no URL: a colon behind the path's beginning", raw: "//h/a://batches/abc", key: "batches/abc",
		resource: "//h/a://batches/abc"},
	{about: "a version is cut only once", raw: "https://h/v1/v1/batches/abc", key: "batches/abc",
		resource: "v1/batches/abc"},
	{about: "URL of the first version", raw: "https://h/v0/batches/abc", key: "batches/abc", resource: "batches/abc"},
	{about: "URL of the last version", raw: "https://h/v9/batches/abc", key: "batches/abc", resource: "batches/abc"},

	// What stands where a version would, and is none.
	{about: "a letter alone", raw: "https://h/v/batches/abc", key: "batches/abc", resource: "v/batches/abc"},
	{about: "another letter", raw: "https://h/x1/batches/abc", key: "batches/abc", resource: "x1/batches/abc"},
	{about: "a letter for the digit", raw: "https://h/vx/batches/abc", key: "batches/abc", resource: "vx/batches/abc"},
	{about: "a dash for the digit", raw: "https://h/v-1/batches/abc", key: "batches/abc",
		resource: "v-1/batches/abc"},

	// An address has a scheme and a host.
	{about: "no scheme", raw: "//h/v1/batches/abc", key: "batches/abc"},
	{about: "no host", raw: "file:///v1/batches/abc", key: "batches/abc"},

	{about: "URL that fits nothing", raw: "https://h/foo/", key: "https://h/foo", resource: "https://h/foo"},
	{about: "bucket", raw: "gs://bucket/object", key: "gs://bucket/object"},

	// Case [K1]: of the collection's word any, of the id its own.
	{about: "upper-case collection", raw: "BATCHES/AbC", key: "batches/AbC"},
	{about: "lower-case compound", raw: "batchpredictionjobs/7", key: "batchPredictionJobs/7"},
	{about: "mixed compound", raw: "BatchJobs/7", key: "batchJobs/7"},

	// A bare id takes its collection from the event's type [K2].
	{about: "bare batch", raw: "batch_123456", fallback: operation.Batches, key: "batches/batch_123456"},
	{about: "bare video", raw: "9p5u", fallback: operation.Operations, key: "operations/9p5u"},
	{about: "bare interaction", raw: " v1_Chd/ ", fallback: operation.Interactions, key: "interactions/v1_Chd",
		resource: "v1_Chd"},
	{about: "bare id without a type", raw: "batch_123456", key: "batch_123456"},
	{about: "a name's own collection stands", raw: "interactions/x", fallback: operation.Batches, key: "interactions/x"},
	{about: "colon in a bare id", raw: "abc:def", fallback: operation.Batches, key: "batches/abc:def"},

	// A name that fits nothing is kept whole, trimmed [K2].
	{about: "strange collection", raw: " files/abc/ ", fallback: operation.Batches, key: "files/abc",
		resource: "files/abc"},
	{about: "below a batch", raw: "batches/abc/requests", key: "batches/abc/requests"},
	{about: "collection alone", raw: "operations/ /", key: "operations", resource: "operations"},
	{about: "webhook", raw: "webhooks/w1", key: "webhooks/w1"},
	{about: "not ASCII", raw: "auftrag/größe", key: "auftrag/größe"},
	{about: "words with blanks", raw: "my nightly batch", key: "my nightly batch"},
}

// parse is ParseName for valid names.
func parse(t testing.TB, raw string, fallback operation.Collection) operation.Name {
	t.Helper()
	name, err := operation.ParseName(raw, fallback)
	if err != nil {
		t.Fatalf("ParseName(%q, %q): %v", raw, fallback, err)
	}
	return name
}

// TestParseName: every form has its key [K1, K2] and keeps the name for requests to the API [K5].
func TestParseName(t *testing.T) {
	t.Parallel()
	for _, tt := range names {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			want := operation.Name{Key: tt.key, Resource: tt.resource}
			if want.Resource == "" {
				want.Resource = tt.raw
			}
			if diff := cmp.Diff(want, parse(t, tt.raw, tt.fallback)); diff != "" {
				t.Errorf("ParseName(%q, %q) (-want +got):\n%s", tt.raw, tt.fallback, diff)
			}
		})
	}
}

func TestParseNameErrors(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("x", operation.MaxNameBytes)
	for _, tt := range []struct{ about, raw, want string }{
		{"nothing", "", "empty"},
		{"white space", " \t\n\u00a0", "empty"},
		{"slashes", "///", "empty"},
		{"slashes and white space", " / / ", "empty"},
		{"too long", longest + "x", "1025 bytes are more than the 1024"},
		{"too long behind a URL", "https://h/v1/batches/" + longest, "1032 bytes"},
		{"not UTF-8", "batches/\xff", "not printable"},
		{"half a rune", "batches/gr\xc3", "not printable"},
		{"zero byte", "batches/a\x00b", "not printable"},
		{"line break inside", "batches/a\nb", "not printable"},
		{"escaped line break in a URL", "https://h/v1/batches/a%0Ab", "not printable"},
		{"escaped bad byte in a URL", "https://h/v1/batches/a%FFb", "not printable"},
		{"garbled", "batches/a\uFFFDb", `"batches/a\ufffdb" has U+FFFD in place of`},
		{"garbled in front", "models/\uFFFD/operations/a", "U+FFFD"},
		{"escaped and garbled in a URL", "https://h/v1/batches/a%EF%BF%BD", "U+FFFD"},
	} {
		t.Run(tt.about, func(t *testing.T) {
			t.Parallel()
			name, err := operation.ParseName(tt.raw, operation.Batches)
			if !errors.Is(err, operation.ErrName) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("error is %v, want ErrName with %q", err, tt.want)
			}
			if diff := cmp.Diff(operation.Name{}, name); diff != "" {
				t.Errorf("a name came with the error (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the longest", func(t *testing.T) {
		t.Parallel()
		// What is cut away does not count.
		want := ("batches/" + longest)[:operation.MaxNameBytes]
		if got := parse(t, "  https://h/v1/"+want+"/  ", "").Key; string(got) != want {
			t.Errorf("key has %d bytes, want %d", len(got), len(want))
		}
	})
}

func TestParseCollection(t *testing.T) {
	t.Parallel()
	for _, c := range operation.Collections() {
		for _, word := range []string{string(c), strings.ToLower(string(c)), strings.ToUpper(string(c))} {
			if got, ok := operation.ParseCollection(word); got != c || !ok {
				t.Errorf("ParseCollection(%q) = %q, %v, want %q", word, got, ok, c)
			}
		}
	}
	for _, word := range []string{"", "batch", "operation", "files", "batches/", " batches"} {
		if got, ok := operation.ParseCollection(word); ok {
			t.Errorf("ParseCollection(%q) = %q, want none", word, got)
		}
	}
}

// TestKeyWithoutCollection: a key without a collection is all id [K2].
func TestKeyWithoutCollection(t *testing.T) {
	t.Parallel()
	for _, key := range []operation.Key{"", "abc", "batches", "files/abc", "BATCHES/abc", "/batches/abc", "batch/abc",
		"batches/abc/def"} {
		if key.Collection() != "" || key.ID() != string(key) {
			t.Errorf("%q is %q and %q, want no collection and all of it", key, key.Collection(), key.ID())
		}
	}
}

// TestIsCanary: a made-up id is recognised in every collection, and only at its beginning.
func TestIsCanary(t *testing.T) {
	t.Parallel()
	for key, want := range map[operation.Key]bool{
		"batches/opledger-canary-a": true, "interactions/opledger-canary-a": true, "opledger-canary-a": true,
		"batches/abc": false, "batches/my-opledger-canary-a": false, "batches/opledger-canary": false, "": false,
	} {
		if got := key.IsCanary(); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}

// TestIdempotencyKeys: an idempotency key has the granularity of the side effect [K4], and is the
// same however the operation's name is spelled [K1].
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for _, raw := range spellings(operation.Batches, "abc") {
		key := parse(t, raw, "").Key
		for _, tt := range []struct{ got, want string }{
			{operation.IdempotencyKey(key, "publish"), "gemini:batches/abc#publish"},
			{operation.IdempotencyKey(key, "publish@n1"), "gemini:batches/abc#publish@n1"},
			{operation.ItemIdempotencyKey(key, "publish", "review-17"), "gemini:batches/abc#publish/items/review-17"},
		} {
			if tt.got != tt.want {
				t.Errorf("%q has %q, want %q", raw, tt.got, tt.want)
			}
		}
	}
}
