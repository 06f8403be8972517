package geminisim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
)

// resultFile is the name of the file with the results, "" if there is none.
func (o *operation) resultFile(at snapshot) string {
	switch {
	case at.state == StateSucceeded && o.inputFile != "":
		return "files/" + resultPrefix + o.id
	case at.state == VideoSucceeded:
		return "files/" + o.id
	}
	return ""
}

type resultLine struct {
	Key      string          `json:"key,omitempty"`
	Response map[string]any  `json:"response,omitempty"`
	Error    *operationError `json:"error,omitempty"`
}

// resultLine is the ith line of a result file. The keys are those of the input file; of one that
// was not uploaded here they are request-1, request-2 and so on.
func (b *operation) resultLine(i int) resultLine {
	line := resultLine{Key: fmt.Sprintf("request-%d", i+1)}
	if b.keys != nil {
		line.Key = b.keys[i]
	}
	line.Response, line.Error = b.result(i)
	return line
}

// inlinedResponses are the results of a batch with inline input, with their metadata. Gemini does
// not keep the order of the requests (seen live); here each read has another.
func (b *operation) inlinedResponses() *inlinedResponses {
	out := &inlinedResponses{InlinedResponses: make([]inlinedResponse, b.size())}
	for at, i := range b.read().Perm(b.size()) {
		response, err := b.result(i)
		out.InlinedResponses[at] = inlinedResponse{Response: response, Error: err, Metadata: b.requests[i].Metadata}
	}
	return out
}

// read returns the random stream of another read of the results.
func (b *operation) read() *rand.Rand {
	b.reads++
	return stream(b.id, "read", strconv.Itoa(b.reads))
}

// order returns in which order a download has the lines of a result file, and how many of them:
// where it is cut, the last of these has no end.
func (f Faults) order(read *rand.Rand, lines int) (order []int, cut bool) {
	order = make([]int, lines)
	for i := range order {
		order[i] = i
	}
	if read.Float64() < f.Shuffled {
		order = read.Perm(lines)
	}
	if cut = read.Float64() < f.Cut && lines > 0; cut {
		order = order[:1+read.IntN(lines)]
	}
	return order, cut
}

// writeResults writes lines of the result file; of the last one only the half, where it is cut.
func (b *operation) writeResults(w io.Writer, order []int, cut bool) error {
	var line bytes.Buffer
	for at, i := range order {
		line.Reset()
		if err := json.NewEncoder(&line).Encode(b.resultLine(i)); err != nil {
			return err
		}
		if cut && at == len(order)-1 {
			line.Truncate(line.Len() / 2)
		}
		if _, err := line.WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}

// result returns the model's answer to the ith request: a GenerateContentResponse or an error.
func (b *operation) result(i int) (map[string]any, *operationError) {
	if b.itemFails(i) {
		return nil, &operationError{Code: 13, Message: "The request could not be processed."}
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

// itemFails reports whether the ith result is an error. It depends on the batch's id, and so on the
// seed.
func (b *operation) itemFails(i int) bool {
	return stream(b.id, strconv.Itoa(i)).Float64() < b.plan.itemErrors
}
