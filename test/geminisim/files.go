package geminisim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// resultPrefix begins the id of a result file; the id of its batch follows,
// which makes 42 characters (seen live).
const resultPrefix = "batch-"

// fileRoutes serves result files. The documented path begins with /download,
// SDK v1.77.0 goes without it.
func (s *Sim) fileRoutes(mux *http.ServeMux) {
	download := verbs{"download": s.serve(OpDownload, resultSubject, s.downloadResults)}
	mux.Handle("GET /v1beta/files/{id}", download)
	mux.Handle("GET /download/v1beta/files/{id}", download)
}

func resultSubject(r *http.Request) subject {
	return subject{id: strings.TrimPrefix(r.PathValue("id"), resultPrefix)}
}

// downloadResults streams the results of a batch that succeeded, one JSON
// object a line.
func (s *Sim) downloadResults(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.byID[resultSubject(r).id]
	file := ""
	if b != nil {
		file = b.resultFile(b.now)
	}
	s.mu.Unlock()
	if file != "files/"+r.PathValue("id") {
		writeError(w, http.StatusForbidden, "You do not have permission to access the File "+r.PathValue("id")+" or it may not exist.")
		return
	}
	if r.URL.Query().Get("alt") != "media" {
		writeError(w, http.StatusBadRequest, "A download needs alt=media.")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	enc := json.NewEncoder(w)
	for i := range b.size() { // what is read from here on never changes
		if err := enc.Encode(b.resultLine(i)); err != nil {
			return // the caller went away
		}
	}
}

type resultLine struct {
	Key      string          `json:"key"`
	Response map[string]any  `json:"response,omitempty"`
	Error    *operationError `json:"error,omitempty"`
}

// resultLine is the ith line of a result file. The keys of the input file are
// not known, so that they are request-1, request-2 and so on.
func (b *batch) resultLine(i int) resultLine {
	line := resultLine{Key: fmt.Sprintf("request-%d", i+1)}
	line.Response, line.Error = b.result(i)
	return line
}

// inlinedResponses are the results of a batch with inline input, in the order
// of the requests and with their metadata.
func (b *batch) inlinedResponses() *inlinedResponses {
	out := &inlinedResponses{InlinedResponses: make([]inlinedResponse, b.size())}
	for i := range out.InlinedResponses {
		response, err := b.result(i)
		out.InlinedResponses[i] = inlinedResponse{Response: response, Error: err, Metadata: b.requests[i].Metadata}
	}
	return out
}

// result is what the model said to the ith request: a GenerateContentResponse
// or an error.
func (b *batch) result(i int) (map[string]any, *operationError) {
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

// itemFails says whether the ith result is an error. It follows from the
// batch's id, which follows from the seed.
func (b *batch) itemFails(i int) bool {
	return stream(b.id, strconv.Itoa(i)).Float64() < b.plan.itemErrors
}
