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

// maxInline is what Gemini takes of requests that are sent with a batch, in bytes. More of them go into a file at Gemini.
const maxInline = 20_000_000

// A requestLine is a line of a batch's input, as Gemini reads it from a file, too.
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

// readRequests reads a file of JSON lines. What the SDK could not send is refused, not left out.
func readRequests(path string) ([]*genai.InlinedRequest, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(text) >= maxInline {
		return nil, fmt.Errorf("%s has %d bytes, and Gemini takes fewer than %d with a batch; upload it and pass --file", path, len(text), maxInline)
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
			err = fmt.Errorf("its key %q is that of line %d; results are told apart by it", key, first)
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
	if err := strictly(text, &line); err != nil {
		return "", nil, fmt.Errorf(`it is not {"key":…,"request":{"contents":[…]}}: %w`, err)
	}
	if len(line.Request.Contents) == 0 {
		return "", nil, errors.New("its request has no contents")
	}
	config := &genai.GenerateContentConfig{}
	if line.Request.GenerationConfig != nil {
		if err := strictly(line.Request.GenerationConfig, config); err != nil {
			return "", nil, fmt.Errorf("generationConfig: %w", err)
		}
	}
	config.SystemInstruction, config.SafetySettings = line.Request.SystemInstruction, line.Request.SafetySettings
	config.Tools, config.ToolConfig, config.CachedContent = line.Request.Tools, line.Request.ToolConfig, line.Request.CachedContent
	request := &genai.InlinedRequest{Contents: line.Request.Contents, Config: config}
	if line.Key != "" {
		request.Metadata = map[string]string{"key": line.Key}
	}
	return line.Key, request, nil
}

// strictly decodes one JSON value, all of whose fields are known.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more follows it")
	}
	return nil
}
