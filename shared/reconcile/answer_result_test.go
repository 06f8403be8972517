package reconcile_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/reconcile"
)

// TestResultOfEitherPath: the result that effects and callers see has one shape, whichever path brought
// the end. Every field is there, null where it was not reported, and an error's code has one form [M7].
func TestResultOfEitherPath(t *testing.T) {
	t.Parallel()
	const file = "files/batch-"
	for what, c := range map[string]struct {
		end            geminisim.State
		state          operation.State
		event, details string
		byWebhook      map[string]any // but for what is null
		byReconcile    map[string]any // the same
	}{
		"succeeded": {
			geminisim.StateSucceeded, operation.Succeeded, "batch.succeeded", `,"output_file_uri":"files/batch-%s"`,
			map[string]any{"outputFile": file, "inline": false},
			map[string]any{"outputFile": file, "inline": false, "counts": true},
		},
		"succeeded, and nothing is said of it": {
			geminisim.StateSucceeded, operation.Succeeded, "batch.succeeded", "",
			nil, map[string]any{"outputFile": file, "inline": false, "counts": true},
		},
		"failed": {
			geminisim.StateFailed, operation.Failed, "batch.failed", `,"error_code":"INTERNAL","error_message":"it broke"`,
			map[string]any{"errorCode": "INTERNAL", "errorMessage": "it broke"},
			map[string]any{"errorCode": "INTERNAL", "errorMessage": "", "counts": true},
		},
		"expired": {
			geminisim.StateExpired, operation.Expired, "batch.expired", "",
			nil, map[string]any{"errorCode": "DEADLINE_EXCEEDED", "errorMessage": "", "counts": true},
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ledger = everyEnd(t, w)
			delivered := w.register("delivered", geminisim.StateRunning)
			lookedUp := w.register("looked up", geminisim.StateRunning)
			w.endAll([]operation.Name{delivered, lookedUp}, c.end)
			details := c.details
			if c.end == geminisim.StateSucceeded && details != "" {
				details = fmt.Sprintf(details, delivered.Key.ID())
			}
			event, err := gemini.DecodeEvent("msg-1", fmt.Appendf(nil,
				`{"type":%q,"timestamp":"2026-01-22T12:30:00Z","data":{"id":%q%s}}`, c.event, delivered.Key.ID(), details))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.ledger.Operations.Ingest(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			w.clock.Advance(grace)
			w.passWith(reconcile.Options{})
			for name, want := range map[operation.Name]map[string]any{delivered: c.byWebhook, lookedUp: c.byReconcile} {
				story, err := w.ledger.Operations.Show(t.Context(), name.Key)
				if err != nil || story.Record.State != c.state || len(story.Effects) != 1 {
					t.Fatalf("%+v %v", story, err)
				}
				var payload, answer struct{ Result map[string]any }
				text, err := json.Marshal(story.Record.Report())
				if err != nil || json.Unmarshal(text, &answer) != nil ||
					json.Unmarshal([]byte(story.Effects[0].Payload), &payload) != nil {
					t.Fatalf("%s %s %v", text, story.Effects[0].Payload, err)
				}
				if diff := cmp.Diff(payload.Result, answer.Result); diff != "" {
					t.Errorf("a caller sees another result than an effect:\n%s", diff)
				}
				whole := map[string]any{"outputFile": nil, "inline": nil, "errorCode": nil, "errorMessage": nil, "counts": nil}
				for field, value := range want {
					whole[field] = value
				}
				if whole["outputFile"] != nil {
					whole["outputFile"] = file + name.Key.ID()
				}
				if whole["errorMessage"] == "" {
					whole["errorMessage"] = story.Record.Result.ErrorMessage
				}
				if whole["counts"] != nil {
					whole["counts"] = payload.Result["counts"]
				}
				if diff := cmp.Diff(whole, payload.Result); diff != "" || whole["counts"] == nil && want["counts"] != nil {
					t.Errorf("settled by %s, -want +got\n%s", story.Record.SettledBy, diff)
				}
			}
		})
	}
}

// everyEnd returns a ledger over the world's store with an effect at every end.
func everyEnd(t *testing.T, w *world) *ledger.Ledger {
	t.Helper()
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "publish", On: []operation.State{
		operation.Succeeded, operation.Failed, operation.Cancelled, operation.Expired,
	}}}
	l, err := ledger.New(w.store, settings, ledger.Options{Publisher: w.outbox})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
