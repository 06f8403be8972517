package geminisim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// resultFile is the name of the file with the results, "" if there is none.
func (o *operation) resultFile(at snapshot) string {
	switch {
	case at.state == StateSucceeded && o.inputFile != "", o.isPartial(at):
		return "files/" + resultPrefix + o.id
	case at.state == VideoSucceeded:
		return "files/" + o.id
	}
	return ""
}

// isPartial reports whether a batch was cancelled and has a part of its results all the same.
func (o *operation) isPartial(at snapshot) bool { return at.state == StateCancelled && o.plan.part > 0 }

type resultLine struct {
	Key      string          `json:"key,omitempty"`
	Response any             `json:"response,omitempty"`
	Error    *operationError `json:"error,omitempty"`
}

// fileLine is the ith line of the result of a file that was not uploaded here, with the key request-1,
// request-2 and so on.
func (b *operation) fileLine(i int) resultLine {
	line := resultLine{Key: fmt.Sprintf("request-%d", i+1)}
	if response, err := b.result(i); err != nil {
		line.Error = err
	} else {
		line.Response = response
	}
	return line
}

// inlinedResponses are the results of a batch with inline input, with their metadata. Gemini does
// not keep the order of the requests (seen live); here each read has another.
func (b *operation) inlinedResponses() *inlinedResponses {
	out := &inlinedResponses{InlinedResponses: make([]inlinedResponse, b.size())}
	for at, i := range b.read().Perm(b.size()) {
		response, err := b.result(i)
		out.InlinedResponses[at] = inlinedResponse{Response: response, Error: err, Metadata: b.requests[i].Metadata}
		if stream(b.id, "metadata", strconv.Itoa(i)).Float64() < b.plan.lines.NoMetadata {
			out.InlinedResponses[at].Metadata = nil
		}
	}
	return out
}

// read returns the random stream of another read of the results.
func (b *operation) read() *rand.Rand {
	b.reads++
	return stream(b.id, "read", strconv.Itoa(b.reads))
}

// result returns the model's answer to the ith request: a GenerateContentResponse or an error.
func (b *operation) result(i int) (map[string]any, *operationError) {
	if b.itemFails(i) {
		return nil, &operationError{Code: 13, Message: "The request could not be processed."}
	}
	if b.embeds {
		return map[string]any{"embedding": embeddingOf(uint64(i))}, nil
	}
	text := fmt.Sprintf("Result %d of %s.", i+1, b.name())
	return map[string]any{
		"candidates": []any{map[string]any{
			"content":      map[string]any{"role": "model", "parts": []any{map[string]any{"text": text}}},
			"finishReason": "STOP",
			"index":        0,
		}},
		"usageMetadata": map[string]any{"promptTokenCount": 8, "candidatesTokenCount": 4, "totalTokenCount": 12},
		"modelVersion":  strings.TrimPrefix(b.model, "models/"),
		"responseId":    fmt.Sprintf("%s-%d", b.id, i+1),
	}, nil
}

// An embedding is a ContentEmbedding, in an EmbedContentResponse.
type embedding struct {
	Values []float64 `json:"values"`
}

// embeddingOf returns a vector that some bits decide.
func embeddingOf(bits uint64) *embedding {
	values := make([]float64, 8)
	for i := range values {
		values[i] = float64(bits>>(8*i)&0xff)/128 - 1
	}
	return &embedding{values}
}

// itemFails reports whether the ith result is an error. It depends on the batch's id, and so on the
// seed.
func (b *operation) itemFails(i int) bool {
	return stream(b.id, strconv.Itoa(i)).Float64() < b.plan.itemErrors
}
