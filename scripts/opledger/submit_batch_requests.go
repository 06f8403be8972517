package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"google.golang.org/genai"
)

// maxInline bounds the requests that Gemini accepts inside a batch, in bytes. Larger ones belong in
// a file at Gemini.
const maxInline = 20_000_000

// A requestLine is a line of a batch's input, in the format of Gemini's own input files.
type requestLine struct {
	Key     string `json:"key"`
	Request struct {
		Contents          []*genai.Content       `json:"contents"`
		SystemInstruction *genai.Content         `json:"systemInstruction"`
		GenerationConfig  json.RawMessage        `json:"generationConfig"`
		SafetySettings    []*genai.SafetySetting `json:"safetySettings"`
		Tools             []*genai.Tool          `json:"tools"`
		ToolConfig        *genai.ToolConfig      `json:"toolConfig"`
		CachedContent     string                 `json:"cachedContent"`
	} `json:"request"`
}

// readRequests reads a file of JSON lines. A field that the SDK cannot send is refused, not
// dropped.
func readRequests(path string) ([]*genai.InlinedRequest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(text) >= maxInline {
		return nil, fmt.Errorf("%s has %d bytes, and Gemini accepts fewer than %d inside a batch; upload it and pass --file",
			path, len(text), maxInline)
	}
	var requests []*genai.InlinedRequest
	lines := map[string]int{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		key, request, err := parseRequest(line)
		if first, twice := lines[key]; err == nil && key != "" && twice {
			err = fmt.Errorf("its key %q is that of line %d; the keys tell the results apart", key, first)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, n, err)
		}
		lines[key] = n
		requests = append(requests, request)
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf("%s has no requests", path)
	}
	return requests, nil
}

func parseRequest(text []byte) (key string, _ *genai.InlinedRequest, err error) {
	var line requestLine
	if err := decodeStrictly(text, &line); err != nil {
		return "", nil, fmt.Errorf(`it is not {"key":…,"request":{"contents":[…]}}: %w`, err)
	}
	if len(line.Request.Contents) == 0 {
		return "", nil, errors.New("its request has no contents")
	}
	config := &genai.GenerateContentConfig{}
	if line.Request.GenerationConfig != nil {
		if err := decodeStrictly(line.Request.GenerationConfig, config); err != nil {
			return "", nil, fmt.Errorf("generationConfig: %w", err)
		}
	}
	config.SystemInstruction, config.SafetySettings = line.Request.SystemInstruction, line.Request.SafetySettings
	config.Tools, config.ToolConfig = line.Request.Tools, line.Request.ToolConfig
	config.CachedContent = line.Request.CachedContent
	request := &genai.InlinedRequest{Contents: line.Request.Contents, Config: config}
	if line.Key != "" {
		request.Metadata = map[string]string{"key": line.Key}
	}
	return line.Key, request, nil
}

// decodeStrictly decodes exactly one JSON value, without unknown fields.
func decodeStrictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}
