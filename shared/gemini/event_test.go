package gemini_test

import (
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

// TestDecodeEventVerbs covers the whole table from verbs to states, and each kind's collection [K2,
// M1].
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
