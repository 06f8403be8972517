package spec_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	effectlog "github.com/opledger/opledger/shared/effect/log"
	"github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// TestDefault: without settings, every end of an operation is logged.
func TestDefault(t *testing.T) {
	t.Parallel()
	specs := kinds.Default()
	if err := ledger.ValidateRules(spec.Rules(specs), operation.Transitions{}); err != nil {
		t.Error(err)
	}
	for _, state := range operation.States() {
		if slices.Contains(specs[0].On, state) != state.Terminal() {
			t.Errorf("%s", state)
		}
	}
	var log bytes.Buffer
	handlers, err := kinds.Handlers(specs, kinds.Options{Log: logging.New(&log, ""), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if extra, err := handlers["log"].Perform(t.Context(), effect.Task{Lease: ledger.Lease{
		Operation: "batches/a", Effect: "log", IdempotencyKey: "gemini:batches/a#log", Payload: []byte(`{"state":"FAILED"}`),
	}}); err != nil || extra != nil {
		t.Errorf("%v %v", extra, err)
	}
	var line map[string]any
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["operation"] != "batches/a" || line["effect"] != "log" || line["payload"] != `{"state":"FAILED"}` ||
		line["severity"] != "INFO" {
		t.Errorf("logged %v", line)
	}
}

// TestItemSpecs: which settings an effect per item may have.
func TestItemSpecs(t *testing.T) {
	t.Parallel()
	options := kinds.Options{Topics: pubsub.NewTopics("p"),
		Custom: map[string]effect.Handler{"a": effectlog.New(nil)}}
	for text, want := range map[string]string{
		"{name: a, on: [SUCCEEDED], do: results, collection: reviews}":                      "",
		"{name: a, on: [SUCCEEDED], do: results, collection: reviews, each: item}":          "",
		"{name: a, on: [SUCCEEDED], do: log, each: item}":                                   "",
		`{name: a, on: [SUCCEEDED], do: http, url: "https://x", each: item}`:                "",
		"{name: a, on: [SUCCEEDED], do: pubsub, topic: reviews, each: item}":                "",
		"{name: a, on: [SUCCEEDED], do: custom, each: item}":                                "",
		"{name: a, on: [SUCCEEDED], do: log, each: item, unkeyed: by-position}":             "",
		"{name: a, on: [SUCCEEDED], do: log, each: item, unkeyed: true}":                    "unkeyed must be by-position",
		"{name: a, on: [SUCCEEDED], do: log, unkeyed: by-position}":                         "unkeyed is for",
		"{name: a, on: [SUCCEEDED], do: results, bucket: \"gs://b\", unkeyed: by-position}": "unkeyed is for",
		"{name: a, on: [SUCCEEDED], do: log, each: operation}":                              "each must be item",
		"{name: a, on: [SUCCEEDED, FAILED], do: log, each: item}":                           "[SUCCEEDED]",
		"{name: a, on: [FAILED], do: results, collection: reviews}":                         "[SUCCEEDED]",
		"{name: a, on: [SUCCEEDED, STUCK], do: log, each: item}":                            "[SUCCEEDED]",
		"{name: a, on: [SUCCEEDED], do: results}":                                           "collection",
		"{name: a, on: [SUCCEEDED], do: results, collection: a/b}":                          "collection",
		"{name: a, on: [SUCCEEDED], do: results, collection: operations}":                   "ledger's own",
		"{name: a, on: [SUCCEEDED], do: results, collection: items}":                        "ledger's own",
		"{name: a, on: [SUCCEEDED], do: results, collection: jobs}":                         "ledger's own",
		"{name: a, on: [SUCCEEDED], do: log, collection: reviews}":                          "for do: results",
	} {
		specs, err := kinds.ParseSpecs([]byte("["+text+"]"), operation.Transitions{})
		if want == "" {
			handlers, handlersErr := kinds.Handlers(specs, options)
			if err != nil || handlersErr != nil || !specs[0].EachItem() || handlers["a"] == nil {
				t.Errorf("%s: %v, %v", text, err, handlersErr)
			}
		} else if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `effect "a"`) {
			t.Errorf("%s: %v, want it to say %s", text, err, want)
		}
	}
}
