package lookup_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// nullItem is an output that the SDK cannot decode, seen from Gemini.
const nullItem = `"output":{"inlinedResponses":{"inlinedResponses":[{"response":{}},null]}}`

// TestLookupBatchKnown covers every state in both spellings, and fields that the SDK would drop or
// not decode.
func TestLookupBatchKnown(t *testing.T) {
	t.Parallel()
	const done = `"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:00.123456789Z",`
	inline := operation.Result{Inline: true}
	for _, test := range []struct {
		name, metadata string
		want           lookup.Answer
	}{
		{
			"pending", `"state":"BATCH_STATE_PENDING","updateTime":"2026-01-22T12:00:00.123456789Z"`,
			lookup.Answer{State: operation.Pending, UpdateTime: noonish},
		},
		{
			"running", `"state":"BATCH_STATE_RUNNING","updateTime":"2026-01-22T12:00:00Z"`,
			lookup.Answer{State: operation.Running, UpdateTime: noon},
		},
		{"succeeded with a file", `"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:00.123456789Z",` +
			`"endTime":"2026-01-22T12:00:01Z","output":{"responsesFile":"files/batch-x"}`, lookup.Answer{
			State: operation.Succeeded, UpdateTime: noonish, Result: operation.Result{OutputFile: "files/batch-x"},
		}},
		{"succeeded inline", `"state":"BATCH_STATE_SUCCEEDED","endTime":"2026-01-22T12:00:00Z",` +
			`"output":{"inlinedResponses":{"inlinedResponses":[{"response":{"candidates":[]}},{"response":null},` +
			`{"error":{"code":8,"message":"quota"}}]}}`, lookup.Answer{
			State: operation.Succeeded, UpdateTime: noon, Result: operation.Result{Inline: true},
		}},
		{"succeeded with embeddings inline", `"state":"BATCH_STATE_SUCCEEDED",` +
			`"output":{"inlinedEmbedContentResponses":{"inlinedResponses":[{"response":{"embedding":{"values":[1]}}}]}}`,
			lookup.Answer{
				State: operation.Succeeded, Result: operation.Result{Inline: true},
			}},
		{
			"failed", `"state":"BATCH_STATE_FAILED","endTime":"2026-01-22T12:00:00Z"`,
			lookup.Answer{State: operation.Failed, UpdateTime: noon},
		},
		{"cancelled", `"state":"BATCH_STATE_CANCELLED"`, lookup.Answer{State: operation.Cancelled}},
		{"expired", `"state":"BATCH_STATE_EXPIRED"`, lookup.Answer{State: operation.Expired}},
		{"cancelling still runs", `"state":"BATCH_STATE_CANCELLING"`, lookup.Answer{State: operation.Running}},
		{"the other prefix: pending", `"state":"JOB_STATE_PENDING"`, lookup.Answer{State: operation.Pending}},
		{"the other prefix: queued", `"state":"JOB_STATE_QUEUED"`, lookup.Answer{State: operation.Pending}},
		{"the other prefix: running", `"state":"JOB_STATE_RUNNING"`, lookup.Answer{State: operation.Running}},
		{"the other prefix: succeeded", `"state":"JOB_STATE_SUCCEEDED"`, lookup.Answer{State: operation.Succeeded}},
		{"the other prefix: failed", `"state":"JOB_STATE_FAILED"`, lookup.Answer{State: operation.Failed}},
		{"the other prefix: cancelled", `"state":"JOB_STATE_CANCELLED"`, lookup.Answer{State: operation.Cancelled}},
		{"the other prefix: expired", `"state":"JOB_STATE_EXPIRED"`, lookup.Answer{State: operation.Expired}},
		{
			"an inline item is null: the SDK fails", done + nullItem,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline},
		},
		{
			"an inline item's error has details: the SDK fails",
			done + `"output":{"inlinedResponses":{"inlinedResponses":[{"error":{"code":8,"details":[{"@type":"x"}]}}]}}`,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline},
		},
		{
			"an embedding is null", done + `"output":{"inlinedEmbedContentResponses":{"inlinedResponses":[null]}}`,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline},
		},
		{
			"output is a text: the SDK panics", done + `"output":"x"`,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish},
		},
		{
			"no items", done + `"output":{"inlinedResponses":{"inlinedResponses":[]}}`,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish},
		},
		{"a time is no time", `"state":"JOB_STATE_CANCELLING","updateTime":"soon"`, lookup.Answer{State: operation.Running}},
		{
			"the end a little after the last update",
			`"state":"BATCH_STATE_SUCCEEDED","updateTime":"2026-01-22T12:00:00.123456789Z",` +
				`"endTime":"2026-01-22T12:00:00.123456820Z"`,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish},
		},
		{
			"only the end has a time", `"state":"BATCH_STATE_EXPIRED","updateTime":7,"endTime":"2026-01-22T12:00:00Z"`,
			lookup.Answer{State: operation.Expired, UpdateTime: noon},
		},
		{"counts, as texts and as numbers", done + `"batchStats":{"requestCount":"7","successfulRequestCount":4,` +
			`"failedRequestCount":"2","pendingRequestCount":1,"x":3},"output":{"responsesFile":"files/x","y":1}`, lookup.Answer{
			State: operation.Succeeded, UpdateTime: noonish, Result: operation.Result{
				OutputFile: "files/x", Counts: &operation.Counts{Total: 7, Succeeded: 4, Failed: 2, Pending: 1},
			},
		}},
		{
			"counts that are none",
			done + nullItem + `,"batchStats":{"requestCount":"many","failedRequestCount":-1,"pendingRequestCount":1.5,` +
				`"successfulRequestCount":{}}`,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, Result: inline},
		},
		{
			"K6 a correlation id", done + `"displayName":"nightly opledger:c-1"`,
			lookup.Answer{State: operation.Succeeded, UpdateTime: noonish, CorrelationID: "c-1"},
		},
	} {
		t.Run("R2 "+test.name, func(t *testing.T) {
			t.Parallel()
			test.want.CreateTime = created
			got := serve(t, says(200, batch(test.metadata))).Lookup(t.Context(), operationName(t, "batches/abc123"))
			if diff := cmp.Diff(test.want, got); diff != "" || !got.Known() {
				t.Errorf("known %v, -want +got\n%s", got.Known(), diff)
			}
		})
	}
}

// TestLookupBatchBare: fields beside the state may be missing, malformed, or in another order, and
// an error is returned [R2].
func TestLookupBatchBare(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want lookup.Answer
	}{
		"no name, other members": {
			`{"done":true,"response":{"x":[{"state":1},[[]],1e999,true,null]},"metadata":{"createTime":"soon",` +
				`"x":{"state":"y"},"state":"BATCH_STATE_SUCCEEDED"},"y":[]}`,
			lookup.Answer{State: operation.Succeeded},
		},
		"why it failed": {
			`{"error":{"details":[{"code":1}],"code":8,"message":"no quota for ` + apiKey + `"},` +
				`"metadata":{"state":"BATCH_STATE_FAILED"}}`,
			lookup.Answer{
				State: operation.Failed, Result: operation.Result{ErrorCode: "8", ErrorMessage: "no quota for [API key]"},
			},
		},
		"why it failed, odd": {
			`{"metadata":{"state":"BATCH_STATE_FAILED"},"error":{"code":"ABORTED","message":7}}`,
			lookup.Answer{State: operation.Failed, Result: operation.Result{ErrorCode: "ABORTED"}},
		},
		"why it failed, none": {
			`{"error":null,"metadata":{"state":"BATCH_STATE_FAILED"}}`, lookup.Answer{State: operation.Failed},
		},
		"why it was cancelled": {
			`{"done":true,"error":{"code":1,"message":"by x"},"metadata":{"state":"BATCH_STATE_CANCELLED"}}`,
			lookup.Answer{State: operation.Cancelled, Result: operation.Result{ErrorCode: "1", ErrorMessage: "by x"}},
		},
		"a name with a model": {
			`{"name":"models/m/batches/abc123","metadata":{"state":"BATCH_STATE_RUNNING"}}`,
			lookup.Answer{State: operation.Running},
		},
	} {
		t.Run("R2 "+name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, says(200, test.body)).Lookup(t.Context(), operationName(t, "models/m/batches/abc123"))
			if diff := cmp.Diff(test.want, got); diff != "" || !got.Known() {
				t.Errorf("known %v, -want +got\n%s", got.Known(), diff)
			}
		})
	}
}

// TestLookupBatchCutsError: a long error is cut for the record.
func TestLookupBatchCutsError(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 5000)
	body := `{"error":{"code":"` + long + `","message":"` + long + `"},"metadata":{"state":"BATCH_STATE_FAILED"}}`
	r := serve(t, says(200, body)).Lookup(t.Context(), operationName(t, "batches/abc123")).Result
	if n, m := len(r.ErrorCode), len(r.ErrorMessage); n < 120 || n > 128 || m < 4090 || m > 4096 {
		t.Errorf("code of %d bytes, message of %d", n, m)
	}
}

// TestLookupBatchUnknown: a 200 alone is inconclusive [R4].
func TestLookupBatchUnknown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, body, reason string }{
		{"an error body", `{"error":{"code":404,"message":"not here","status":"NOT_FOUND"}}`, lookup.NoState},
		{"{}", `{}`, lookup.NoState},
		{"done, no metadata", `{"name":"batches/abc123","done":true}`, lookup.NoState},
		{"the state outside of metadata", `{"name":"batches/abc123","state":"BATCH_STATE_SUCCEEDED"}`, lookup.NoState},
		{"metadata is a text", `{"metadata":"x"}`, lookup.NoState},
		{"state unspecified", batch(`"state":"BATCH_STATE_UNSPECIFIED"`), lookup.NoState},
		{"state unspecified, the other prefix", batch(`"state":"JOB_STATE_UNSPECIFIED"`), lookup.NoState},
		{"state null", batch(`"state":null`), lookup.NoState},
		{"state is a number", batch(`"state":3`), lookup.NoState},
		{"an inline item is null, and no state", batch(nullItem), lookup.NoState},
		{"a state of tomorrow", batch(`"state":"BATCH_STATE_DREAMING",` + nullItem), lookup.UnknownState},
		{"a state without a prefix", batch(`"state":"SUCCEEDED"`), lookup.UnknownState},
		{"another prefix", batch(`"state":"X_BATCH_STATE_SUCCEEDED"`), lookup.UnknownState},
		{"small letters", batch(`"state":"batch_state_succeeded"`), lookup.UnknownState},
		{"paused", batch(`"state":"JOB_STATE_PAUSED"`), lookup.UnknownState},
		{"updating", batch(`"state":"JOB_STATE_UPDATING"`), lookup.UnknownState},
		{"partially succeeded", batch(`"state":"JOB_STATE_PARTIALLY_SUCCEEDED"`), lookup.UnknownState},
		{"the state repeats the key", batch(`"state":"` + apiKey + `"`), lookup.UnknownState},
		{"empty", ``, lookup.BadAnswer},
		{"HTML", `<html>all is well</html>`, lookup.BadAnswer},
		{"a list", `[]`, lookup.BadAnswer},
		{"null", `null`, lookup.BadAnswer},
		{"cut short", `{"metadata":{"state":"BATCH_STATE_SUCC`, lookup.BadAnswer},
		{"cut short after the state", `{"metadata":{"state":"BATCH_STATE_SUCCEEDED"}`, lookup.BadAnswer},
		{
			"cut short within an item",
			`{"metadata":{"state":"BATCH_STATE_SUCCEEDED","output":{"inlinedResponses":{"inlinedResponses":[null,{"a":`,
			lookup.BadAnswer,
		},
		{"something after the batch", batch(`"state":"BATCH_STATE_SUCCEEDED"`) + `{}`, lookup.BadAnswer},
		{"brackets do not match", `{"metadata":{"state":"BATCH_STATE_SUCCEEDED","x":[}}}`, lookup.BadAnswer},
		{"a member's name is a number", `{"metadata":{"state":"BATCH_STATE_SUCCEEDED",7:8}}`, lookup.BadAnswer},
		{
			"nested without end",
			`{"metadata":{"state":"BATCH_STATE_SUCCEEDED"},"x":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`,
			lookup.BadAnswer,
		},
		{"another batch", `{"name":"batches/other","metadata":{"state":"BATCH_STATE_SUCCEEDED"}}`, lookup.BadAnswer},
		{"a name that is none", `{"name":"\u0000","metadata":{"state":"BATCH_STATE_SUCCEEDED"}}`, lookup.BadAnswer},
	} {
		t.Run("R4 "+test.name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, says(http.StatusOK, test.body)).Lookup(t.Context(), operationName(t, "batches/abc123"))
			checkUnknown(t, got, test.reason)
			var failure *lookup.LookupError
			if !errors.As(got.Err, &failure) || failure.Code != 0 || failure.Resource != "batches/abc123" {
				t.Errorf("error %+v", got.Err)
			}
		})
	}
	got := serve(
		t, says(200, `{"error":{"code":404,"message":"not here"}}`),
	).Lookup(
		t.Context(), operationName(t, "batches/abc123"),
	)
	if !strings.Contains(got.Err.Error(), "404: not here") {
		t.Errorf("%v does not say what Gemini said", got.Err)
	}
}
