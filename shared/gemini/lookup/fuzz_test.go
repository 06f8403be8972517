package lookup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// roundTripper answers without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// answering returns a client whose every request is answered with a 200 and the present body.
func answering(tb testing.TB, body *[]byte) *lookup.Client {
	tb.Helper()
	client, err := lookup.NewClient(lookup.Options{APIKey: apiKey, BaseURL: "https://gemini.test", HTTP: &http.Client{
		Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: -1,
				Body: io.NopCloser(bytes.NewReader(*body)), Request: req,
			}, nil
		}),
	}},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

// plainly returns the fields that the tests need of an object without duplicate keys, as
// encoding/json does.
func plainly(object any) (name, state, displayName string) {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	name, _ = fields["name"].(string)
	state, _ = metadata["state"].(string)
	displayName, _ = metadata["displayName"].(string)
	return name, state, displayName
}

// FuzzLookup: no 200 makes a look-up of any kind panic or hang, and a batch has a state only if
// encoding/json finds it too.
func FuzzLookup(f *testing.F) {
	f.Add([]byte(batch(`"state":"BATCH_STATE_SUCCEEDED","displayName":"opledger:c-1",` + nullItem)))
	f.Add(
		[]byte(`{"error":{"code":1},"metadata":{"state":"JOB_STATE_FAILED","batchStats":{"requestCount":"1"}},"metadata":7}`),
	)
	f.Add([]byte(video(`,"done":true,"error":{"code":1}`)))
	f.Add([]byte(generated(`"generatedSamples":[null],"raiMediaFilteredCount":1`)))
	f.Add([]byte(interaction(`"status":"incomplete","errors":[{}]`)))
	f.Add([]byte(`{"a":[[[{"b":[1,]`))
	var body []byte
	client := answering(f, &body)
	f.Fuzz(func(t *testing.T, answer []byte) {
		body = answer
		for _, raw := range names {
			got := client.Lookup(t.Context(), operationName(t, raw))
			if !got.Known() {
				checkUnknown(t, got, got.Reason)
			}
			if got.Known() && !json.Valid(answer) {
				t.Fatalf("R4: %s is %s by something that is no JSON", raw, got.State)
			}
		}
		var object map[string]any
		if json.Unmarshal(answer, &object) != nil || object == nil {
			return
		}
		name, state, displayName := plainly(object)
		sorted, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		body = sorted
		got := client.Lookup(t.Context(), operationName(t, names[0]))
		if about, err := operation.ParseName(name, operation.Batches); name != "" &&
			(err != nil || string(about.Key) != names[0]) {
			checkUnknown(t, got, lookup.BadAnswer)
		} else if known := strings.HasSuffix(state, "_STATE_"+string(got.State)); got.Known() && !known &&
			state != "JOB_STATE_QUEUED" && !strings.HasSuffix(state, "_CANCELLING") {
			t.Fatalf("R4: %s of %s", got.State, sorted)
		} else if got.CorrelationID != gemini.CorrelationIn(displayName) {
			t.Fatalf("K6: %q of %s", got.CorrelationID, sorted)
		}
	})
}

// FuzzListBatches: no 200 makes a listing panic or hang; a page has an entry for each of its
// operations, and none is lost to another one.
func FuzzListBatches(f *testing.F) {
	f.Add([]byte(`{"operations":[` + entry("a", `"state":"BATCH_STATE_PENDING"`) + `,null,7,[]],"nextPageToken":"2"}`))
	f.Add([]byte(`{"error":{"code":1},"operations":{}}`))
	f.Add([]byte(`{"operations":[{"name":"batches/a","metadata":[{}]},{"name":"batches/b"`))
	var body []byte
	client := answering(f, &body)
	f.Fuzz(func(t *testing.T, answer []byte) {
		body = answer
		page, err := client.ListBatches(t.Context(), 0, "")
		if err == nil && !json.Valid(answer) {
			t.Fatal("R4: a page of something that is no JSON")
		}
		var failure *lookup.LookupError
		if err != nil && (!errors.As(err, &failure) || page.NextPageToken != "") {
			t.Fatalf("an error of no use: %v beside token %q", err, page.NextPageToken)
		}
		for _, batch := range page.Batches {
			if (batch.Name.Key == "") != (batch.Reason == lookup.BadAnswer) {
				t.Fatalf("an entry of no use: %+v", batch)
			}
			if !batch.Known() {
				checkUnknown(t, batch.Answer, batch.Reason)
			}
		}
		var object map[string]any
		if json.Unmarshal(answer, &object) != nil || object == nil {
			return
		}
		if body, err = json.Marshal(object); err != nil {
			t.Fatal(err)
		}
		page, err = client.ListBatches(t.Context(), 0, "")
		operations, _ := object["operations"].([]any)
		if len(page.Batches) != min(len(operations), lookup.MaxPageSize) && err == nil {
			t.Fatalf("%d entries of %d", len(page.Batches), len(operations))
		}
		for i, batch := range page.Batches {
			_, _, displayName := plainly(operations[i])
			if batch.CorrelationID != gemini.CorrelationIn(displayName) {
				t.Fatalf("K6: %q of %v", batch.CorrelationID, operations[i])
			}
		}
	})
}
