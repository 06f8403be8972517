package lookup_test

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// entry is the shape of a live entry of a listing.
func entry(id, metadata string) string {
	return `{"name":"batches/` + id + `","metadata":{"createTime":"2026-01-22T11:00:00.123456789Z",` + metadata + `},` +
		`"done":true,"response":{"inlinedResponses":{"inlinedResponses":[null]}}}`
}

// TestListBatches: a page returns each of its batches, even beside malformed ones [G6, R6].
func TestListBatches(t *testing.T) {
	t.Parallel()
	answers := []string{
		entry(
			"a",
			`"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:00Z","displayName":"nightly opledger:c-1",`+nullItem,
		),
		entry("b", `"state":"BATCH_STATE_RUNNING","batchStats":{"requestCount":"3"}`),
		`null`,
		`7`,
		`{}`,
		entry("c", `"state":"BATCH_STATE_DREAMING","displayName":"opledger:c-2"`),
		`{"name":"batches/d","metadata":"x"}`,
		`{"name":"models/veo/operations/e","metadata":{"displayName":"opledger:c-3"}}`,
		`{"name":"batches/","metadata":{"state":"BATCH_STATE_SUCCEEDED"}}`,
		`{"name":"` + strings.Repeat("x", 2000) + `"}`,
		`{"name":"batches/f","error":{"code":8,"message":"quota"},"metadata":{"state":"BATCH_STATE_FAILED",` +
			`"model":"models/m","displayName":"` + strings.Repeat(
			"n", 2000,
		) + ` opledger:c-4"}}`,
	}
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Method + " " + r.URL.String(); got != "GET /proxy/v1beta/batches?pageSize=50&pageToken=a%2Fb%3D" ||
			r.Header.Get("X-Goog-Api-Key") != apiKey {
			t.Errorf("asked by %s, key %q", got, r.Header.Get("X-Goog-Api-Key"))
		}
		says(200, `{"nextPageToken":"next","operations":[`+strings.Join(answers, ",")+`],"unreachable":[]}`)(w, r)
	}, func(o *lookup.Options) { o.BaseURL += "/proxy/" })
	page, err := client.ListBatches(t.Context(), 50, "a/b=")
	if err != nil {
		t.Fatal(err)
	}
	named := func(id string) operation.Name { return operationName(t, "batches/"+id) }
	want := lookup.Page{NextPageToken: "next", Batches: []lookup.Batch{
		{Name: named("a"), DisplayName: "nightly opledger:c-1", Answer: lookup.Answer{
			State: operation.Succeeded, UpdateTime: noon, CreateTime: created, CorrelationID: "c-1",
			Result: operation.Result{Inline: true},
		}},
		{
			Name: named("b"),
			Answer: lookup.Answer{
				State: operation.Running, CreateTime: created, Result: operation.Result{Counts: &operation.Counts{Total: 3}},
			},
		},
		{Answer: lookup.Answer{Reason: lookup.BadAnswer}},
		{Answer: lookup.Answer{Reason: lookup.BadAnswer}},
		{Answer: lookup.Answer{Reason: lookup.BadAnswer}},
		{
			Name: named("c"), DisplayName: "opledger:c-2",
			Answer: lookup.Answer{Reason: lookup.UnknownState, CreateTime: created, CorrelationID: "c-2"},
		},
		{Name: named("d"), Answer: lookup.Answer{Reason: lookup.NoState}},
		{DisplayName: "opledger:c-3", Answer: lookup.Answer{Reason: lookup.BadAnswer, CorrelationID: "c-3"}},
		{Answer: lookup.Answer{Reason: lookup.BadAnswer}},
		{Answer: lookup.Answer{Reason: lookup.BadAnswer}},
		{Name: named("f"), DisplayName: strings.Repeat("n", 509) + "…", Model: "models/m", Answer: lookup.Answer{
			State: operation.Failed, CorrelationID: "c-4", Result: operation.Result{ErrorCode: "8", ErrorMessage: "quota"},
		}},
	}}
	if diff := cmp.Diff(want, page, cmpopts.IgnoreFields(lookup.Answer{}, "Err")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, batch := range page.Batches {
		if !batch.Known() {
			checkUnknown(t, batch.Answer, batch.Reason)
		}
	}
	if event := page.Batches[0].Event(page.Batches[0].Name); event.CorrelationID != "c-1" || event.Key != "batches/a" {
		t.Errorf("K6: the entry's event is %+v", event)
	}
}

// TestListBatchesPages: page by page, with at most the largest page size.
func TestListBatchesPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"/v1beta/batches?pageSize=1000": `{"operations":[` + entry(
			"a", `"state":"BATCH_STATE_PENDING"`,
		) + `],"nextPageToken":"2"}`,
		"/v1beta/batches?pageSize=1000&pageToken=2": `{"operations":null,"nextPageToken":"3"}`,
		"/v1beta/batches?pageToken=3":               `{}`,
	}
	client := serve(t, func(w http.ResponseWriter, r *http.Request) { says(200, pages[r.URL.String()])(w, r) })
	for i, ask := range []struct {
		size        int
		token, next string
		entries     int
	}{{5000, "", "2", 1}, {1000, "2", "3", 0}, {-1, "3", "", 0}} {
		page, err := client.ListBatches(t.Context(), ask.size, ask.token)
		if err != nil || len(page.Batches) != ask.entries || page.NextPageToken != ask.next {
			t.Errorf("G6: page %d: %+v, %v", i, page, err)
		}
	}
}

// TestListBatchesFails: what is not a page is an error, never an empty page, beside what was read
// before; and its token is not followed.
func TestListBatchesFails(t *testing.T) {
	t.Parallel()
	one := entry("a", `"state":"BATCH_STATE_PENDING"`)
	for name, test := range map[string]struct {
		body, reason string
		entries      int
	}{
		"R4 an error body":            {`{"error":{"code":503,"message":"later ` + apiKey + `"}}`, lookup.NoState, 0},
		"R4 HTML":                     {`<html>`, lookup.BadAnswer, 0},
		"R4 empty":                    {``, lookup.BadAnswer, 0},
		"R4 null":                     {`null`, lookup.BadAnswer, 0},
		"R4 a list":                   {`[` + one + `]`, lookup.BadAnswer, 0},
		"R4 operations are an object": {`{"operations":` + one + `}`, lookup.BadAnswer, 0},
		"R4 cut short": {
			`{"nextPageToken":"2","operations":[` + one + `,` + one + `,{"na`, lookup.BadAnswer, 2,
		},
		"R4 cut short behind": {`{"operations":[` + one + `],"nextPageToken":"2"`, lookup.BadAnswer, 1},
		"R4 something behind": {`{"operations":[` + one + `]}{}`, lookup.BadAnswer, 1},
		"R6 too many": {
			`{"nextPageToken":"2","operations":[` + strings.Repeat(one+",", 1000) + one + `]}`, lookup.TooLarge, 1000,
		},
		"R6 a token without end": {`{"nextPageToken":"` + strings.Repeat("t", 5000) + `"}`, lookup.BadAnswer, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, err := serve(t, says(200, test.body)).ListBatches(t.Context(), 0, "")
			var failure *lookup.LookupError
			if !errors.As(err, &failure) || failure.Reason != test.reason || failure.Resource != "batches" ||
				strings.Contains(err.Error(), apiKey) {
				t.Errorf("error %v, want reason %q", err, test.reason)
			}
			if len(page.Batches) != test.entries || page.NextPageToken != "" {
				t.Errorf("%d entries and token %q, want %d and none", len(page.Batches), page.NextPageToken, test.entries)
			}
		})
	}
}

// TestListKnowsWhatGetDoesNot: live batches were seen whose look-up fails for days while the
// listing has their state.
func TestListKnowsWhatGetDoesNot(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1beta/batches" {
			says(503, `{"error":{"code":503,"status":"UNAVAILABLE"}}`)(w, r)
			return
		}
		says(200, `{"operations":[`+entry("abc123", `"state":"BATCH_STATE_SUCCEEDED"`)+`]}`)(w, r)
	})
	name := operationName(t, "batches/abc123")
	checkUnknown(t, client.Lookup(t.Context(), name), lookup.Unavailable)
	page, err := client.ListBatches(t.Context(), 0, "")
	if err != nil || len(page.Batches) != 1 || page.Batches[0].Name != name ||
		page.Batches[0].State != operation.Succeeded {
		t.Errorf("R2: %+v, %v", page, err)
	}
}

// TestListBatchesMaxPageSize: a page of the largest size is read whole.
func TestListBatchesMaxPageSize(t *testing.T) {
	t.Parallel()
	var entries []string
	for i := range lookup.MaxPageSize {
		entries = append(entries, entry(strconv.Itoa(i), `"state":"BATCH_STATE_PENDING"`))
	}
	page, err := serve(
		t, says(200, `{"operations":[`+strings.Join(entries, ",")+`]}`),
	).ListBatches(
		t.Context(), lookup.MaxPageSize, "",
	)
	if err != nil || len(page.Batches) != lookup.MaxPageSize ||
		page.Batches[lookup.MaxPageSize-1].Name.Key != "batches/999" {
		t.Errorf("%d entries, %v", len(page.Batches), err)
	}
}
