package job

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/operation"
)

// A Request is one line of an input.
type Request struct {
	// Key is the submitter's, and no other request of the job has it [K4].
	Key string
	// Body is a GenerateContentRequest or an EmbedContentRequest as JSON, a part of the line that it was read from.
	Body json.RawMessage
	// Model is the model that the line or the request names; empty where none is. It must be the job's.
	Model string
}

// MaxKeyBytes bounds a request's key.
const MaxKeyBytes = 512

// form is what a line must be.
const form = `{"key": "…", "request": {"contents": [{"role": "user", "parts": [{"text": "…"}]}]}}`

// A reading is one line, while it is read.
type reading struct {
	Request
	problems operation.Problems
	members  []string // of the line, beside the key and the request
	key      []byte   // as JSON
	media    int64    // parts that are no text
	inline   int64    // bytes of the JSON of the media that the request contains
	embeds   bool     // the request is an EmbedContentRequest
}

// maxNamed bounds the members and the problems that are kept of a line.
const maxNamed = 100

// add adds a problem of a field.
func (r *reading) add(field, format string, args ...any) {
	if len(r.problems) < maxNamed {
		r.problems.Add(field, format, args...)
	}
}

// readRequest reads a line of an input, {"key": …, "request": {…}}, and makes it compact. keyField is another name of
// the key, such as custom_id; empty for key. Its problems say what to do about all that would make Gemini refuse the
// whole batch; then the request is not to be used. Members that neither Gemini nor its SDKs are known to have pass,
// unless they are surely misspelt.
func readRequest(line []byte, keyField string) *reading {
	r := &reading{}
	keyField = cmp.Or(keyField, "key")
	c := r.open(line)
	if c == nil {
		return r
	}
	c.Object(func(name []byte) {
		switch name := string(name); {
		case name == keyField && r.key != nil, name == "request" && r.Body != nil:
			r.add(name, "the line has it twice; write it once")
		case name == keyField:
			r.key = c.Value()
		case name == "request":
			r.Body = c.Value()
		case name == "model":
			r.model(name, c)
		case len(r.members) < maxNamed:
			r.members = append(r.members, name)
		}
	})
	if r.foreign() {
		return r
	}
	r.readKey(keyField)
	for _, name := range r.members {
		r.place("", name)
	}
	r.readBody()
	return r
}

// open makes the line compact, and returns a cursor in front of its object; nil where it is none.
func (r *reading) open(line jsontext.Value) *jsonscan.Cursor {
	invalid := line.Compact()
	if syntax := (*jsontext.SyntacticError)(nil); errors.As(invalid, &syntax) {
		// Its own text names each object around it, however long that is.
		invalid = fmt.Errorf("%w behind byte %d", syntax.Err, syntax.ByteOffset)
	}
	c := jsonscan.New(line)
	switch {
	case !utf8.Valid(line):
		r.add("line", "it is not UTF-8; save the file as UTF-8")
	case invalid != nil:
		r.add("line", "it is not one JSON value, write %s on one line: %w", form, invalid)
	case c.Kind() == '[':
		r.add("line", "it is a list; write its elements as %s, each on a line of its own", form)
	case c.Kind() != '{':
		r.add("line", "it is not an object; write %s", form)
	default:
		return c
	}
	return nil
}

// model reads the name of a model, of the line or of its request.
func (r *reading) model(field string, c *jsonscan.Cursor) {
	model := ModelName(string(jsonscan.Text(c.Value())))
	switch {
	case model == "":
		r.add(field, "it must be the name of the job's model, as a text; or take it out")
	case r.Model != "" && r.Model != model:
		r.add(field, "%s is another model than %s, on the same line; take both out",
			diag.QuoteUpTo(model, 40), diag.QuoteUpTo(r.Model, 40))
	}
	r.Model = model
}

// ModelName is a model's name as people write it, and as limits and reservations have it: without models/ in front.
func ModelName(name string) string { return strings.TrimPrefix(name, "models/") }

// foreign reports a line of another provider's batch format, of which nothing else is worth saying.
func (r *reading) foreign() bool {
	if r.Body != nil || !slices.ContainsFunc([]string{"body", "params", "method", "url"}, r.has) {
		return false
	}
	r.add("line", "its members (%s) are those of another provider's batch format; write %s",
		diag.Cut(strings.Join(r.members, ", "), 80), form)
	return true
}

func (r *reading) has(member string) bool { return slices.Contains(r.members, member) }

// readKey reads the key: a text, or a number as its digits. A key that is wrong stays empty.
func (r *reading) readKey(field string) {
	key := string(jsonscan.Text(r.key))
	if number := string(r.key); strings.Trim(strings.TrimPrefix(number, "-"), "0123456789") == "" {
		key = number
	}
	switch {
	case r.key == nil:
		other := ""
		for _, name := range []string{"key", "custom_id", "customId", "id"} {
			if r.has(name) {
				other = fmt.Sprintf(", or name %s as the field of the key", name)
				break
			}
		}
		r.add(field, "it is missing; give each request a key of its own%s", other)
	case key == "" && r.key[0] != '"':
		r.add(field, "it must be a text or a whole number, not %s", diag.QuoteUpTo(string(r.key), 40))
	case key == "":
		r.add(field, "it is empty; give each request a key of its own")
	case len(key) > MaxKeyBytes:
		r.add(field, "%d bytes are more than %d: %s", len(key), MaxKeyBytes, diag.QuoteUpTo(key, 40))
	case operation.Garbled(key):
		r.add(field, "it has U+FFFD in place of what could not be decoded, and may be another request's, too")
	case strings.ContainsFunc(key, unicode.IsControl):
		r.add(field, "it has control characters: %s; take them out", diag.Quote(key))
	default:
		r.Key = key
	}
}
