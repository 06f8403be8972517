package gemini_test

import (
	"time"

	"github.com/opledger/opledger/shared/operation"
)

type decodeTest struct {
	name string
	body string
	want operation.Event // without what every event has: source, delivery id
}

func named(key operation.Key, resource string) operation.Name {
	return operation.Name{Key: key, Resource: resource}
}

var noon = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)

// envelope is the documented outer object around data.
func envelope(eventType, data string) string {
	return `{"type":"` + eventType + `","version":"v1","timestamp":"2026-01-22T12:00:00Z","data":` + data + `}`
}

func decodeTests() []decodeTest {
	batch := named("batches/batch_123456", "batch_123456")
	bare := func(eventType string, state operation.State) operation.Event {
		return operation.Event{Name: batch, Type: eventType, State: state, UpdateTime: noon}
	}
	return []decodeTest{
		// The documented nine, in their documented shapes.
		{
			"doc batch.succeeded with a file",
			envelope("batch.succeeded", `{"id":"batch_123456","output_file_uri":"gs://my-bucket/results.jsonl"}`),
			operation.Event{
				Name: batch, Type: "batch.succeeded", State: operation.Succeeded, UpdateTime: noon,
				Result: operation.Result{OutputFile: "gs://my-bucket/results.jsonl"},
			},
		},
		{
			"doc batch.succeeded without a file", envelope("batch.succeeded", `{"id":"batch_123456"}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"doc batch.cancelled", envelope("batch.cancelled", `{"id":"batch_123456"}`),
			bare("batch.cancelled", operation.Cancelled),
		},
		{"doc batch.expired", envelope("batch.expired", `{"id":"batch_123456"}`), bare("batch.expired", operation.Expired)},
		{
			"doc batch.failed",
			envelope("batch.failed", `{"id":"batch_123456","error_code":"INTERNAL","error_message":"it broke"}`),
			operation.Event{
				Name: batch, Type: "batch.failed", State: operation.Failed, UpdateTime: noon,
				Result: operation.Result{ErrorCode: "INTERNAL", ErrorMessage: "it broke"},
			},
		},
		{"doc interaction.requires_action", envelope("interaction.requires_action", `{"id":"v1_ChdOdXRo"}`), operation.Event{
			Name: named("interactions/v1_ChdOdXRo", "v1_ChdOdXRo"), Type: "interaction.requires_action",
			State: operation.RequiresAction, UpdateTime: noon,
		}},
		{"doc interaction.completed", envelope("interaction.completed", `{"id":"v1_ChdOdXRo"}`), operation.Event{
			Name: named("interactions/v1_ChdOdXRo", "v1_ChdOdXRo"), Type: "interaction.completed", State: operation.Succeeded,
			UpdateTime: noon,
		}},
		{
			"doc interaction.failed",
			envelope("interaction.failed", `{"id":"v1_ChdOdXRo","error_code":429,"error_message":"slow"}`),
			operation.Event{
				Name: named("interactions/v1_ChdOdXRo", "v1_ChdOdXRo"), Type: "interaction.failed", State: operation.Failed,
				UpdateTime: noon,
				Result:     operation.Result{ErrorCode: "429", ErrorMessage: "slow"},
			},
		},
		{"doc interaction.cancelled", envelope("interaction.cancelled", `{"id":"v1_ChdOdXRo"}`), operation.Event{
			Name: named("interactions/v1_ChdOdXRo", "v1_ChdOdXRo"), Type: "interaction.cancelled", State: operation.Cancelled,
			UpdateTime: noon,
		}},
		{
			"doc video.generated",
			envelope(
				"video.generated", `{"id":"9p5ug42emn2z","output_file_uri":"https://x/files/v:download","file_name":"files/v"}`,
			),
			operation.Event{
				Name: named("operations/9p5ug42emn2z", "9p5ug42emn2z"), Type: "video.generated", State: operation.Succeeded,
				UpdateTime: noon,
				Result:     operation.Result{OutputFile: "https://x/files/v:download"},
			},
		},
		// Discrepancies between the documentation's versions.
		{
			"launch week video: file_id and video_uri",
			envelope("video.generated", `{"id":"v","file_id":"f1","video_uri":"https://x/v"}`),
			operation.Event{
				Name: named("operations/v", "v"), Type: "video.generated", State: operation.Succeeded, UpdateTime: noon,
				Result: operation.Result{OutputFile: "https://x/v"},
			},
		},
		{"video with a file's name only", envelope("video.generated", `{"id":"v","file_name":"files/f1"}`), operation.Event{
			Name: named("operations/v", "v"), Type: "video.generated", State: operation.Succeeded, UpdateTime: noon,
			Result: operation.Result{OutputFile: "files/f1"},
		}},
		{
			"video with a file's id only",
			envelope("video.generated", `{"id":"v","file_id":"f1","output_file_uri":null}`),
			operation.Event{
				Name: named("operations/v", "v"), Type: "video.generated", State: operation.Succeeded, UpdateTime: noon,
				Result: operation.Result{OutputFile: "f1"},
			},
		},
		{
			"launch pages' batch.completed", envelope("batch.completed", `{"id":"batch_123456"}`),
			bare("batch.completed", operation.Succeeded),
		},
		{"K2 id with its collection", envelope("batch.succeeded", `{"id":"batches/batch_123456"}`), operation.Event{
			Name: named("batches/batch_123456", "batches/batch_123456"), Type: "batch.succeeded", State: operation.Succeeded,
			UpdateTime: noon,
		}},
		{
			"K1 the whole name of a video",
			envelope("video.generated", `{"id":"models/veo-3.1-generate-preview/operations/9p5ug42emn2z"}`),
			operation.Event{
				Name: named("operations/9p5ug42emn2z", "models/veo-3.1-generate-preview/operations/9p5ug42emn2z"),
				Type: "video.generated", State: operation.Succeeded, UpdateTime: noon,
			},
		},
		{"K2 a name that fits nothing is kept", envelope("video.generated", `{"id":"files/f1"}`), operation.Event{
			Name: named("files/f1", "files/f1"), Type: "video.generated", State: operation.Succeeded, UpdateTime: noon,
		}},
		{"K1 white space and slash", envelope("batch.succeeded", `{"id":" batches/batch_123456/ "}`), operation.Event{
			Name: named("batches/batch_123456", "batches/batch_123456"), Type: "batch.succeeded", State: operation.Succeeded,
			UpdateTime: noon,
		}},
		// Where the name stands [K3].
		{
			"K3 data.name", envelope("batch.succeeded", `{"id":" ","name":"batch_123456"}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"K3 data.operation", envelope("batch.succeeded", `{"id":null,"operation":"batch_123456"}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"K3 data.operationName", envelope("batch.succeeded", `{"operation":{},"operationName":"batch_123456"}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"K3 data.resourceName", envelope("batch.succeeded", `{"id":7,"resourceName":"batch_123456"}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"K3 data.id before name", envelope("batch.succeeded", `{"name":"other","id":"batch_123456"}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"K3 name beside empty data", `{"type":"batch.expired","data":{},"name":"batch_123456"}`,
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
		{
			"K3 operation, no data", `{"type":"batch.expired","operation":"batch_123456"}`,
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
		{
			"K3 operationName, data is a text", `{"type":"batch.expired","data":"x","operationName":"batch_123456"}`,
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
		{
			"K3 resourceName, data is null", `{"type":"batch.expired","data":null,"resourceName":"batch_123456"}`,
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
		// Times [M4].
		{
			"M4 no time", `{"type":"batch.expired","data":{"id":"batch_123456"}}`,
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
		{
			"M4 time is no time", `{"type":"batch.expired","timestamp":"yesterday","data":{"id":"batch_123456"}}`,
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
		{
			"M4 time is a number", `{"type":"batch.expired","timestamp":1700000000,"data":{"id":"batch_123456"}}`,
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
		{
			"M4 nanoseconds and a zone",
			`{"type":"batch.expired","timestamp":"2026-01-22T13:00:00.123456789+01:00","data":{"id":"batch_123456"}}`,
			operation.Event{
				Name: batch, Type: "batch.expired", State: operation.Expired, UpdateTime: noon.Add(123456 * time.Microsecond),
			},
		},
		// Results.
		{
			"M1 incomplete is a failure by its own word",
			envelope("interaction.incomplete", `{"id":"v1_x","error_code":"other","error_message":"cut"}`),
			operation.Event{
				Name: named("interactions/v1_x", "v1_x"), Type: "interaction.incomplete", State: operation.Failed, UpdateTime: noon,
				Result: operation.Result{ErrorCode: "incomplete", ErrorMessage: "cut"},
			},
		},
		{"M1 so is budget_exceeded", envelope("interaction.budget_exceeded", `{"id":"v1_x"}`), operation.Event{
			Name: named("interactions/v1_x", "v1_x"), Type: "interaction.budget_exceeded", State: operation.Failed,
			UpdateTime: noon,
			Result:     operation.Result{ErrorCode: "budget_exceeded"},
		}},
		{
			"error as an object",
			envelope(
				"batch.failed", `{"id":"batch_123456","error":{"code": 8 ,"status":"RESOURCE_EXHAUSTED","message":"quota"}}`,
			),
			operation.Event{
				Name: batch, Type: "batch.failed", State: operation.Failed, UpdateTime: noon,
				Result: operation.Result{ErrorCode: "8", ErrorMessage: "quota"},
			},
		},
		{
			"error object with a text code",
			envelope("batch.failed", `{"id":"batch_123456","error":{"code":"not_found"}}`),
			operation.Event{
				Name: batch, Type: "batch.failed", State: operation.Failed, UpdateTime: noon,
				Result: operation.Result{ErrorCode: "not_found"},
			},
		},
		{
			"error object with a status only",
			envelope("batch.failed", `{"id":"batch_123456","error":{"status":"ABORTED"}}`),
			operation.Event{
				Name: batch, Type: "batch.failed", State: operation.Failed, UpdateTime: noon,
				Result: operation.Result{ErrorCode: "ABORTED"},
			},
		},
		{
			"error as a text",
			envelope("batch.failed", `{"id":"batch_123456","error":"it broke","error_code":null}`),
			operation.Event{
				Name: batch, Type: "batch.failed", State: operation.Failed, UpdateTime: noon,
				Result: operation.Result{ErrorMessage: "it broke"},
			},
		},
		{
			"inline, as the batch has it",
			envelope(
				"batch.succeeded", `{"id":"batch_123456","output":{"inlinedResponses":{"inlinedResponses":[{"response":{}}]}}}`,
			),
			operation.Event{
				Name: batch, Type: "batch.succeeded", State: operation.Succeeded, UpdateTime: noon,
				Result: operation.Result{Inline: true},
			},
		},
		{
			"inline, the other spelling",
			envelope("batch.succeeded", `{"id":"batch_123456","output":{"inlined_responses":[ {"response":{}}]}}`),
			operation.Event{
				Name: batch, Type: "batch.succeeded", State: operation.Succeeded, UpdateTime: noon,
				Result: operation.Result{Inline: true},
			},
		},
		{"inline, a bare list", envelope("batch.succeeded", `{"id":"batch_123456","output":[1]}`), operation.Event{
			Name: batch, Type: "batch.succeeded", State: operation.Succeeded, UpdateTime: noon,
			Result: operation.Result{Inline: true},
		}},
		{
			"an empty list is not inline",
			envelope("batch.succeeded", `{"id":"batch_123456","output":{"inlinedResponses":{"inlinedResponses":[ ]}}}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"output with a file",
			envelope("batch.succeeded", `{"id":"batch_123456","output":{"responsesFile":"files/batch-x"}}`),
			operation.Event{
				Name: batch, Type: "batch.succeeded", State: operation.Succeeded, UpdateTime: noon,
				Result: operation.Result{OutputFile: "files/batch-x"},
			},
		},
		// JSON's own oddities.
		{
			"later of two equal keys", envelope("batch.succeeded", `{"id":"other","id":"batch_123456"}`),
			bare("batch.succeeded", operation.Succeeded),
		},
		{
			"white space everywhere", "\n{ \"type\" : \"batch.expired\" ,\t\"data\" : { \"id\" : \"batch_123456\" } }\n",
			operation.Event{Name: batch, Type: "batch.expired", State: operation.Expired},
		},
	}
}
