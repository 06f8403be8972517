package lookup_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// interaction is the shape of an answer around some members.
func interaction(members string) string {
	return `{"id":"v1_ChdOdXRo","object":"interaction","model":"gemini-3-flash",` +
		`"created":"2026-01-22T11:00:00.123456789Z","updated":"2026-01-22T12:00:00Z",` +
		members + `,"steps":[{"type":"model_output","content":[{"type":"text","text":"hello"}]}],"usage":{"total_tokens":7}}`
}

// TestLookupInteraction covers every status [M1], and the other fields of an answer.
func TestLookupInteraction(t *testing.T) {
	t.Parallel()
	in := func(state operation.State, code, message string) lookup.Answer {
		return lookup.Answer{
			State:      state,
			UpdateTime: noon,
			CreateTime: created,
			Result:     operation.Result{ErrorCode: code, ErrorMessage: message},
		}
	}
	correlated := in(operation.Running, "", "")
	correlated.CorrelationID = "c-1"
	for _, test := range []struct {
		name, body string
		want       lookup.Answer
		reason     string
	}{
		{"queued", interaction(`"status":"queued"`), in(operation.Pending, "", ""), ""},
		{"in progress", interaction(`"status":"in_progress"`), in(operation.Running, "", ""), ""},
		{"M1 requires action", interaction(`"status":"requires_action"`), in(operation.RequiresAction, "", ""), ""},
		{
			"M1 requires continuation", interaction(`"status":"requires_continuation"`), in(operation.RequiresAction, "", ""),
			"",
		},
		{"completed", interaction(`"status":"completed"`), in(operation.Succeeded, "", ""), ""},
		{
			"failed",
			interaction(`"status":"failed","errors":[{"code":"quota","message":"none for ` + apiKey + `"},{"code":"other"}]`),
			in(operation.Failed, "quota", "none for [API key]"), "",
		},
		{"failed, no word why", interaction(`"status":"failed","errors":[]`), in(operation.Failed, "", ""), ""},
		{"R4 cancelled", interaction(`"status":"cancelled"`), in(operation.Cancelled, "", ""), ""},
		{
			"M1 incomplete", interaction(`"status":"incomplete","errors":[{"code":"max_tokens","message":"cut"}]`),
			in(operation.Failed, "incomplete", "cut"), "",
		},
		{"M1 a word of events", interaction(`"status":"expired"`), in(operation.Expired, "", ""), ""},
		{"M1 budget exceeded", interaction(`"status":"budget_exceeded"`), in(operation.Failed, "budget_exceeded", ""), ""},
		{
			"K6 a correlation id",
			interaction(
				`"status":"in_progress","webhook_config":{"uris":["https://x"],"user_metadata":{"opledger_correlation_id":"c-1"}}`,
			),
			correlated, "",
		},
		{"M4 no times", `{"id":"v1_ChdOdXRo","status":"completed"}`, lookup.Answer{State: operation.Succeeded}, ""},
		{
			"M4 times that are none", `{"status":"completed","updated":"soon","created":""}`,
			lookup.Answer{State: operation.Succeeded}, "",
		},
		{"R4 a status of tomorrow", interaction(`"status":"dreaming"`), lookup.Answer{}, lookup.UnknownState},
		{"R4 capitals", interaction(`"status":"COMPLETED"`), lookup.Answer{}, lookup.UnknownState},
		{"R4 only an id", `{"id":"v1_ChdOdXRo"}`, lookup.Answer{}, lookup.NoState},
		{"R4 an error body", `{"error":{"code":"not_found","message":"not here"}}`, lookup.Answer{}, lookup.NoState},
		{"R4 {}", `{}`, lookup.Answer{}, lookup.NoState},
		{"R4 another interaction", `{"id":"v1_other","status":"completed"}`, lookup.Answer{}, lookup.BadAnswer},
		{"R4 empty", ``, lookup.Answer{}, lookup.BadAnswer},
		{"R4 HTML", `<html>`, lookup.Answer{}, lookup.BadAnswer},
		{"R4 a list", `[]`, lookup.Answer{}, lookup.BadAnswer},
		{"R4 status is a number", `{"id":"v1_ChdOdXRo","status":7}`, lookup.Answer{}, lookup.NoState},
		{
			"R4 status in other letters", interaction(`"Status":"completed","\u017ftatus":"completed"`),
			lookup.Answer{}, lookup.NoState,
		},
		{
			"R4 details of other types hide no end",
			`{"status":"failed","updated":1700000000,"webhook_config":[],"errors":[{"code":13,"message":{}},null]}`,
			lookup.Answer{State: operation.Failed, Result: operation.Result{ErrorCode: "13"}}, "",
		},
		{
			"R4 other errors hide no end", `{"status":"failed","errors":"quota"}`,
			lookup.Answer{State: operation.Failed}, "",
		},
		{"R4 cut short", `{"id":"v1_ChdOdXRo","status":"completed"`, lookup.Answer{}, lookup.BadAnswer},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := serve(t, says(200, test.body)).Lookup(t.Context(), operationName(t, names[2]))
			if test.reason != "" {
				checkUnknown(t, got, test.reason)
				return
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !got.Known() {
				t.Errorf("known %v, -want +got\n%s", got.Known(), diff)
			}
		})
	}
}

// TestLookupInteractionOtherContent: an answer of another kind is no answer, and leaves nothing
// open.
func TestLookupInteractionOtherContent(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text/event-stream", "text/html", ""} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			_, _ = io.WriteString(w, "data: {\"status\":\"completed\"}\n\n")
		})
		checkUnknown(t, client.Lookup(t.Context(), operationName(t, names[2])), lookup.BadAnswer)
	}
}

// TestLookupInteractionComesBack: a 404 is not the end. A live interaction was not found for two
// days, and then completed [R4].
func TestLookupInteractionComesBack(t *testing.T) {
	t.Parallel()
	handler, n := counted(nil)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		handler(w, r)
		if n.Load() == 1 {
			says(404, `{"error":{"code":"not_found","message":"not here"}}`)(w, r)
			return
		}
		says(200, interaction(`"status":"completed"`))(w, r)
	})
	checkUnknown(t, client.Lookup(t.Context(), operationName(t, names[2])), lookup.NotFound)
	if got := client.Lookup(t.Context(), operationName(t, names[2])); got.State != operation.Succeeded {
		t.Errorf("got %+v", got)
	}
}
