package job

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/jsonscan"
)

// A canonical line is {"key":KEY,"request":BODY} and a line end, compact: a job's input in job storage has no
// others. So its parts are found without decoding it.
const (
	beforeKey  = `{"key":`
	beforeBody = `,"request":`
	afterBody  = '}'
)

// ErrNotCanonical is wrapped by the error for a line that Canonicalize did not write.
var ErrNotCanonical = errors.New("it is not a canonical line")

// SplitLine returns the request of a canonical line, with or without its line end. It decodes only the key, since a
// worker calls it for each of a million lines: the body is a part of the line. The error wraps ErrNotCanonical.
func SplitLine(line []byte) (Request, error) {
	rest, opens := bytes.CutPrefix(line, []byte(beforeKey))
	key, at := quoted(rest)
	body, follows := bytes.CutPrefix(rest[at:], []byte(beforeBody))
	body = bytes.TrimSuffix(body, []byte{'\n'})
	last := len(body) - 1
	if !opens || at == 0 || !follows || last < 2 || body[0] != '{' ||
		body[last-1] != '}' || body[last] != afterBody {
		return Request{}, fmt.Errorf("reading %s: %w", diag.Quote(string(line[:min(len(line), 100)])), ErrNotCanonical)
	}
	return Request{Key: key, Body: body[:last]}, nil
}

// Embeds reports whether a request is of an embedding: it has content, and no contents.
func (r Request) Embeds() bool {
	content, contents := false, false
	jsonscan.New(r.Body).Object(func(name []byte) {
		content, contents = content || string(name) == "content", contents || string(name) == "contents"
	})
	return content && !contents
}

// quoted reads the JSON text at the beginning of text, and returns where it ends; 0 where there is none.
func quoted(text []byte) (content string, end int) {
	if len(text) == 0 || text[0] != '"' {
		return "", 0
	}
	length := bytes.IndexByte(text[1:], '"')
	if length < 0 {
		return "", 0
	}
	if content := text[1 : 1+length]; bytes.IndexByte(content, '\\') < 0 {
		return string(content), length + 2
	}
	value := jsonscan.New(text).Value()
	return string(jsonscan.Text(value)), len(value)
}

// appendHead appends the beginning of a canonical line, up to its body.
func appendHead(to []byte, key string) []byte {
	to, _ = jsontext.AppendQuote(append(to, beforeKey...), key) // it fails of no key: each is UTF-8
	return append(to, beforeBody...)
}
