package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/operation"
)

func TestDecodeEvent(t *testing.T) {
	t.Parallel()
	for _, test := range decodeTests() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.want.DeliveryID, test.want.Source = "msg_1", operation.Webhook
			got, err := gemini.DecodeEvent("msg_1", []byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestDecodeEventVerbs has the whole table from words to states, and each kind's collection [K2, M1].
func TestDecodeEventVerbs(t *testing.T) {
	t.Parallel()
	verbs := map[string]operation.State{
		"pending": operation.Pending, "queued": operation.Pending,
		"running": operation.Running, "started": operation.Running, "in_progress": operation.Running,
		"requires_action": operation.RequiresAction, "requires_continuation": operation.RequiresAction,
		"succeeded": operation.Succeeded, "completed": operation.Succeeded, "generated": operation.Succeeded,
		"failed": operation.Failed, "incomplete": operation.Failed, "budget_exceeded": operation.Failed,
		"cancelled": operation.Cancelled, "canceled": operation.Cancelled,
		"expired": operation.Expired,
	}
	kinds := map[string]operation.Key{"batch": "batches/x", "video": "operations/x", "interaction": "interactions/x"}
	for kind, key := range kinds {
		for verb, state := range verbs {
			event, err := gemini.DecodeEvent("d", []byte(envelope(kind+"."+verb, `{"id":"x"}`)))
			if err != nil || event.State != state || event.Key != key {
				t.Errorf("%s.%s: %s %s %v", kind, verb, event.Key, event.State, err)
			}
		}
	}
}

func TestDecodeEventCorrelation(t *testing.T) {
	t.Parallel()
	const metadata = `{"opledger_correlation_id":"c-1","other":"x"}`
	for _, test := range []struct{ name, body, want string }{
		{"in data", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":` + metadata + `}}`, "c-1"},
		{"in data, camel case", `{"type":"batch.succeeded","data":{"id":"x","userMetadata":` + metadata + `}}`, "c-1"},
		{"beside data", `{"type":"batch.succeeded","data":{"id":"x"},"user_metadata":` + metadata + `}`, "c-1"},
		{"beside data, camel case", `{"type":"batch.succeeded","data":{"id":"x"},"userMetadata":` + metadata + `}`, "c-1"},
		{"in data's interaction", `{"type":"interaction.completed","data":{"id":"x","interaction":{"user_metadata":` + metadata + `}}}`, "c-1"},
		{"in data's webhook_config", `{"type":"interaction.completed","data":{"id":"x","webhook_config":{"userMetadata":` + metadata + `}}}`, "c-1"},
		{"data before beside", `{"type":"batch.succeeded","user_metadata":{"opledger_correlation_id":"c-2"},"data":{"id":"x","user_metadata":` + metadata + `}}`, "c-1"},
		{"first object by key", `{"type":"batch.succeeded","data":{"id":"x","b":{"user_metadata":{"opledger_correlation_id":"c-2"}},"a":{"user_metadata":` + metadata + `}}}`, "c-1"},
		{"metadata of others", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":{"other":"x"}}}`, ""},
		{"metadata is a text", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":"c-1"}}`, ""},
		{"the id is a number", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":{"opledger_correlation_id":7}}}`, ""},
		{"the id is too long", `{"type":"batch.succeeded","data":{"id":"x","user_metadata":{"opledger_correlation_id":"` + strings.Repeat("c", 257) + `"}}}`, ""},
		{"none", `{"type":"batch.succeeded","data":{"id":"x"}}`, ""},
	} {
		t.Run("K6 "+test.name, func(t *testing.T) {
			t.Parallel()
			event, err := gemini.DecodeEvent("d", []byte(test.body))
			if err != nil || event.CorrelationID != test.want {
				t.Errorf("got %q, %v; want %q", event.CorrelationID, err, test.want)
			}
		})
	}
}
