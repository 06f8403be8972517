package geminisim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// request is one request of an uploaded file, and what becomes of it.
type request struct {
	lineFate
	key   string
	json  bool // it asks for JSON
	embed bool // it asks for an embedding
	bytes int
	text  string // of its answer
	model string
	id    string // of its response
}

// request returns the ith request of a batch, which is on this line.
func (b *operation) request(line []byte, i int) request {
	r := request{
		key: keyOf(line), json: wantsJSON(line), embed: b.embeds, bytes: len(line),
		model: strings.TrimPrefix(b.model, "models/"), id: fmt.Sprintf("%s-%d", b.id, i+1),
	}
	r.lineFate, r.text = b.fateOf(r.key, i), "Result of "+r.key
	if sent := b.tally().sent; i < len(sent) {
		r.text += fmt.Sprintf(", sent %d times", sent[i])
	}
	return r
}

// A response is a GenerateContentResponse, with the fields that the API sends.
type response struct {
	Candidates     []candidate     `json:"candidates,omitempty"`
	PromptFeedback *promptFeedback `json:"promptFeedback,omitempty"`
	Usage          *usage          `json:"usageMetadata,omitempty"`
	ModelVersion   string          `json:"modelVersion"`
	ResponseID     string          `json:"responseId"`
}

type candidate struct {
	Content      *modelContent `json:"content,omitempty"`
	FinishReason string        `json:"finishReason"`
	Index        int           `json:"index"`
}

type modelContent struct {
	Parts []textPart `json:"parts"`
	Role  string     `json:"role"`
}

type textPart struct {
	Text string `json:"text"`
}

type promptFeedback struct {
	BlockReason string `json:"blockReason"`
}

type usage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount,omitempty"`
	Thoughts   int `json:"thoughtsTokenCount,omitempty"`
	Cached     int `json:"cachedContentTokenCount,omitempty"`
	Total      int `json:"totalTokenCount"`
}

// line adds the line of a request to a file of results, or nothing.
func (r *request) line(to *bytes.Buffer) error {
	line := resultLine{Key: r.key}
	switch r.fault {
	case lineMissing:
		return nil
	case lineNull:
		if pick(r.lineFate, true, false) {
			to.WriteString("null\n")
			return nil
		}
		line.Response = json.RawMessage("null")
	case lineUnreadable:
		to.WriteString(pick(r.lineFate, "<html><title>502 Bad Gateway</title></html>\n", "{\"key\":\""+r.id+"\",\"respo\n"))
		return nil
	case lineFailed:
		line.Error = &operationError{Code: 13, Message: "The request could not be processed."}
	case lineItemError:
		code := pick(r.lineFate, 429, 499, 500, 503, 13, 14)
		line.Error = &operationError{Code: code, Message: "The request was not processed, try again."}
	case lineRefused:
		line.Error = &operationError{Code: pick(r.lineFate, 400, 3), Message: invalidArgument}
	default:
		if line.Response = any(r.response()); r.embed {
			line.Response = map[string]any{"embedding": embeddingOf(r.x[3])}
		}
	}
	return json.NewEncoder(to).Encode(line)
}

// response returns what the model says to the request.
func (r *request) response() *response {
	whole := r.text + "."
	if r.json {
		text, _ := json.Marshal(map[string]string{"answer": r.text}) // a map of texts can be written
		whole = string(text)
	}
	switch r.fault {
	case lineBlocked:
		blocked := r.answer("", "")
		blocked.Candidates = nil
		blocked.PromptFeedback = &promptFeedback{pick(r.lineFate, "SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT")}
		if r.x[3]&(1<<40) != 0 {
			blocked.Usage = nil
		}
		return blocked
	case lineSafety:
		stopped := r.answer("", pick(r.lineFate, "SAFETY", "RECITATION", "PROHIBITED_CONTENT"))
		stopped.Candidates[0].Content = nil
		return stopped
	case lineTruncated:
		return r.answer(whole[:len(whole)/2], "MAX_TOKENS")
	case lineBadJSON:
		return r.answer("Here is the answer: "+r.text+".", "STOP")
	}
	return r.answer(whole, "STOP")
}

// answer returns a response with this text. Its usage goes by the sizes: a token for four bytes.
func (r *request) answer(text, finish string) *response {
	u := &usage{Prompt: 1 + r.bytes/4, Candidates: (len(text) + 3) / 4}
	if text != "" && r.x[3]&(1<<41) != 0 {
		u.Thoughts = 1 + int(r.x[3]>>42%500)
	}
	if r.x[3]&(1<<52) != 0 {
		u.Cached = u.Prompt / 2
	}
	u.Total = u.Prompt + u.Candidates + u.Thoughts
	return &response{
		Candidates: []candidate{{
			Content: &modelContent{Parts: []textPart{{text}}, Role: "model"}, FinishReason: finish,
		}},
		Usage: u, ModelVersion: r.model, ResponseID: r.id,
	}
}

// foreignLine adds a line whose key is of no request.
func (r *request) foreignLine(to *bytes.Buffer) error {
	key := fmt.Sprintf("foreign-%016x", r.x[3])
	return json.NewEncoder(to).Encode(resultLine{Key: key, Response: r.answer("Result of "+key+".", "STOP")})
}
