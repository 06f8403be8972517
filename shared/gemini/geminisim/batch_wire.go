package geminisim

import (
	"encoding/json"
	"strconv"
	"time"
)

// The JSON of batches: measured against SDK v1.77.0, the fields it drops as documented or as seen
// live.

type createRequest struct {
	Batch struct {
		DisplayName string `json:"displayName"`
		InputConfig struct {
			FileName string `json:"fileName"`
			// OtherName is how the SDK writes the name of a file of embeddings.
			OtherName string `json:"file_name"`
			Requests  struct {
				Requests []inlineRequest `json:"requests"`
			} `json:"requests"`
		} `json:"inputConfig"`
		WebhookConfig webhookConfig `json:"webhookConfig"`
	} `json:"batch"`
}

// batchLabel returns the display name in the body of a creation. The handler refuses an unreadable
// body.
func batchLabel(body []byte) string {
	var create createRequest
	_ = json.Unmarshal(body, &create)
	return create.Batch.DisplayName
}

type inlineRequest struct {
	Request  json.RawMessage   `json:"request,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

type listResponse struct {
	Operations    []batchOperation `json:"operations,omitempty"`
	NextPageToken string           `json:"nextPageToken,omitempty"`
}

// batchOperation is the long-running operation that a batch is to the API.
type batchOperation struct {
	Name     string          `json:"name"`
	Metadata *batchMetadata  `json:"metadata,omitempty"`
	Done     bool            `json:"done,omitempty"`
	Error    *operationError `json:"error,omitempty"`
	Response *batchOutput    `json:"response,omitempty"`
}

type operationError struct {
	Code    int    `json:"code"` // google.rpc.Code
	Message string `json:"message"`
}

type batchMetadata struct {
	Type        string       `json:"@type"`
	Model       string       `json:"model"`
	DisplayName string       `json:"displayName,omitempty"`
	InputConfig inputConfig  `json:"inputConfig"`
	Output      *batchOutput `json:"output,omitempty"`
	CreateTime  time.Time    `json:"createTime"` // RFC 3339, up to nanoseconds
	EndTime     time.Time    `json:"endTime,omitzero"`
	UpdateTime  time.Time    `json:"updateTime"`
	BatchStats  batchStats   `json:"batchStats"`
	State       State        `json:"state"`
	Name        string       `json:"name"`
}

type inputConfig struct {
	FileName string          `json:"fileName,omitempty"`
	Requests *inlineRequests `json:"requests,omitempty"`
}

type inlineRequests struct {
	Requests []inlineRequest `json:"requests"`
}

type batchOutput struct {
	Type             string            `json:"@type,omitempty"` // in response only
	ResponsesFile    string            `json:"responsesFile,omitempty"`
	InlinedResponses *inlinedResponses `json:"inlinedResponses,omitempty"`
	InlinedEmbeds    *inlinedResponses `json:"inlinedEmbedContentResponses,omitempty"`
}

type inlinedResponses struct {
	InlinedResponses []inlinedResponse `json:"inlinedResponses"`
}

type inlinedResponse struct {
	Response map[string]any    `json:"response,omitempty"`
	Error    *operationError   `json:"error,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// batchStats counts requests, as strings: they are 64-bit on Google's side.
type batchStats struct {
	RequestCount           string `json:"requestCount"`
	SuccessfulRequestCount string `json:"successfulRequestCount,omitempty"`
	FailedRequestCount     string `json:"failedRequestCount,omitempty"`
	PendingRequestCount    string `json:"pendingRequestCount,omitempty"`
}

const typePrefix = "type.googleapis.com/google.ai.generativelanguage.v1main."

// failures are the errors of operations that ended without results. Codes are google.rpc.Code. The
// texts are the simulator's own, because no live sample is known.
var failures = map[State]operationError{
	StateFailed:    {Code: 13, Message: "The batch could not be processed."},
	StateCancelled: {Code: 1, Message: "The batch was cancelled."},
	StateExpired:   {Code: 4, Message: "The batch was not processed within 48 hours."},

	VideoFailed:       {Code: 13, Message: "The video could not be generated."},
	InteractionFailed: {Code: 13, Message: "The interaction could not be completed."},
}

// batch returns the batch of a snapshot.
func (b *operation) batch(at snapshot) batchOperation {
	batchType := typePrefix + "GenerateContentBatch"
	if b.embeds {
		batchType = typePrefix + "EmbedContentBatch"
	}
	meta := &batchMetadata{
		Type:        batchType,
		Model:       b.model,
		DisplayName: b.label,
		CreateTime:  b.createTime.UTC(),
		EndTime:     at.endTime.UTC(),
		UpdateTime:  at.updateTime.UTC(),
		State:       at.state,
		Name:        b.name(),
		BatchStats:  b.stats(at),
	}
	if at.endTime.IsZero() {
		meta.EndTime = time.Time{}
	}
	if b.inputFile != "" {
		meta.InputConfig.FileName = b.inputFile
	} else {
		meta.InputConfig.Requests = &inlineRequests{b.requests}
	}
	op := batchOperation{Name: b.name(), Metadata: meta, Done: at.state.Terminal()}
	if e, ok := failures[at.state]; ok {
		if b.plan.refused && at.state == StateFailed {
			e = operationError{Code: 3, Message: invalidArgument}
		}
		op.Error = &e
	}
	if b.isPartial(at) {
		meta.Output = &batchOutput{ResponsesFile: b.resultFile(at)}
	}
	if at.state == StateSucceeded {
		out := batchOutput{ResponsesFile: b.resultFile(at)}
		switch {
		case b.inputFile != "":
		case b.embeds:
			out.InlinedEmbeds = b.inlinedResponses()
		default:
			out.InlinedResponses = b.inlinedResponses()
		}
		meta.Output = &out
		// Seen live: the output is in both places.
		again := out
		again.Type = batchType + "Output"
		op.Response = &again
	}
	return op
}

// size returns the number of requests of the batch. For an input file that was not uploaded here,
// the plan has it.
func (b *operation) size() int {
	switch {
	case b.input != nil:
		return b.input.size()
	case b.inputFile != "":
		return b.plan.items
	}
	return len(b.requests)
}

func (b *operation) stats(at snapshot) batchStats {
	n := b.size()
	st := batchStats{RequestCount: strconv.Itoa(n)}
	switch {
	case at.state == StateSucceeded || b.isPartial(at):
		failed := b.failed(at)
		st.SuccessfulRequestCount = strconv.Itoa(n - failed)
		if failed > 0 {
			st.FailedRequestCount = strconv.Itoa(failed)
		}
	case at.state.Terminal():
		st.FailedRequestCount = st.RequestCount
	default:
		st.PendingRequestCount = st.RequestCount
	}
	return st
}

// failed returns how many requests have no response in the results.
func (b *operation) failed(at snapshot) int {
	if b.input != nil {
		return b.size() - b.lineTally(at).responses()
	}
	failed := 0
	for i := range b.size() {
		if b.itemFails(i) {
			failed++
		}
	}
	return failed
}
