package results

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/items"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/storage"
)

// fetches returns a client whose results have one line.
func fetches(t *testing.T) *results.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"key":"a","response":1}`)
	}))
	t.Cleanup(server.Close)
	client, err := results.New(results.Options{APIKey: "key", BaseURL: server.URL, HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestUnreadablePayload: an effect whose frozen payload cannot be read is DEAD at its first attempt,
// as is one that has no item. Without an API key it is retried.
func TestUnreadablePayload(t *testing.T) {
	t.Parallel()
	object := func(client *results.Client) effect.Handler {
		handler, err := Object(ObjectOptions{Bucket: "gs://results", Buckets: storage.NewBuckets("x"), Results: client})
		if err != nil {
			t.Fatal(err)
		}
		return handler
	}
	damaged := effect.Task{Lease: ledger.Lease{Payload: []byte("{")}, Item: &results.Item{}}
	for name, c := range map[string]struct {
		handler   effect.Handler
		task      effect.Task
		says      string
		permanent bool
	}{
		"a document":        {Documents("reviews"), damaged, "reading the payload", true},
		"no item":           {Documents("reviews"), effect.Task{}, "item by item", true},
		"an object":         {object(fetches(t)), damaged, "reading the payload", true},
		"an object, no key": {object(nil), damaged, items.ErrNoAPIKey.Error(), false},
		"each item":         {items.Each(nil, items.Options{Results: fetches(t)}), damaged, "reading the payload", true},
	} {
		_, err := c.handler.Perform(t.Context(), c.task)
		if err == nil || !strings.Contains(err.Error(), c.says) || effect.IsPermanent(err) != c.permanent {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	if _, err := Object(ObjectOptions{Bucket: "results"}); err == nil {
		t.Error("an object is written to what is no bucket")
	}
}

// TestUnperformableDocuments: what is written to a collection needs no bucket.
func TestUnperformableDocuments(t *testing.T) {
	t.Parallel()
	if err := (&Do{Collection: "reviews"}).Unperformable(t.Context(), ObjectOptions{}); err != nil {
		t.Error(err)
	}
}

// TestLinesAreClosed: the download ends with the attempt.
func TestLinesAreClosed(t *testing.T) {
	t.Parallel()
	l := &resultLines{client: fetches(t)}
	l.completion.Operation, l.completion.Result.OutputFile = "batches/a", "files/a"
	if err := l.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := l.reader
	l.close()
	if _, err := open.Next(); err == nil || errors.Is(err, io.EOF) || l.reader != nil {
		t.Errorf("the download goes on: %v", err)
	}
}

// TestSegmentKeepsLetters: what an operator can read of a name stays in the object's name.
func TestSegmentKeepsLetters(t *testing.T) {
	t.Parallel()
	if got := segment("a b/cé"); !strings.HasPrefix(got, "a_b_c_~") {
		t.Errorf("%q", got)
	}
}

// TestObjectWithoutCredentials: where no client can be made the attempt fails, and says what to do. Not
// parallel, because it sets a variable.
func TestObjectWithoutCredentials(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/credentials.json")
	handler, err := Object(ObjectOptions{
		Bucket: "gs://results", Buckets: storage.NewBuckets(""), Results: fetches(t),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{
		Payload: []byte(`{"operation":"batches/a","result":{"outputFile":"files/a"}}`),
	}})
	if err == nil || !strings.Contains(err.Error(), "making a Cloud Storage client") || effect.IsPermanent(err) {
		t.Error(err)
	}
}
