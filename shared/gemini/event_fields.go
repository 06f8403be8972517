package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/jsonscan"
	"github.com/opledger/opledger/shared/operation"
)

// Bounds, in bytes, on the texts of an event or an answer that become part of a record. A record is one document
// of at most 1 MiB, and a long error message must not prevent its write.
const (
	MaxErrorMessage = 4 << 10
	MaxErrorCode    = 128
	maxFieldsListed = 40
)

// An object is the text of a JSON object, whose members are decoded on demand: a tree of all of them
// would take many times the memory. A nil object has no members.
type object []byte

// get returns a member's value, the last where there are several; nil if there is none.
func (o object) get(key string) json.RawMessage { return jsonscan.New(o).Member(key) }

// text returns a member that is a text, trimmed, or "" for anything else.
func (o object) text(key string) string {
	return strings.TrimSpace(string(jsonscan.Text(o.get(key))))
}

// firstText returns the first of these members that is a non-empty text.
func (o object) firstText(keys ...string) string {
	for _, key := range keys {
		if text := o.text(key); text != "" {
			return text
		}
	}
	return ""
}

// scalar returns a member that is a text or a number, as text. Error codes come as either.
func (o object) scalar(key string) string {
	if raw := o.get(key); kindOf(raw) == "a number" {
		return string(raw)
	}
	return o.text(key)
}

// object returns a member that is an object, or nil for anything else.
func (o object) object(key string) object {
	if raw := o.get(key); isObject(raw) {
		return object(raw)
	}
	return nil
}

// names lists the members of an envelope and its data, for an error [K3].
func (o object) names(data object) []string {
	var names []string
	add := func(prefix string) func([]byte) {
		return func(key []byte) {
			at, has := slices.BinarySearch(names, prefix+string(key))
			if !has && at < maxFieldsListed {
				names = slices.Insert(names, at, prefix+string(key))
				names = names[:min(len(names), maxFieldsListed)]
			}
		}
	}
	jsonscan.New(o).Object(add(""))
	jsonscan.New(data).Object(add("data."))
	for i, name := range names {
		quoted := diag.QuoteUpTo(name, maxQuoted)
		names[i] = diag.Cut(quoted[1:len(quoted)-1], maxQuoted)
	}
	return names
}

// kindOf describes a JSON value. The value has no white space before it, because it was decoded as
// part of an object.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '"':
		return "an empty text" // only called for texts without content
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 'n':
		return "null"
	case 't', 'f':
		return "a truth value"
	default:
		return "a number"
	}
}

// readResult returns the rest of data, in every documented spelling. A file is output_file_uri or
// video_uri, else file_name or file_id. An error is error_code and error_message, or error{code,
// message}. An output has the form that it has in the batch itself.
func readResult(data object) operation.Result {
	failure, output := data.object("error"), data.object("output")
	return operation.Result{
		OutputFile: cmp.Or(
			data.firstText("output_file_uri", "video_uri", "file_name", "file_id"),
			output.firstText("responsesFile", "responses_file")),
		Inline: holdsItems(data.get("output")),
		ErrorCode: diag.Cut(cmp.Or(data.scalar("error_code"),
			failure.scalar("code"), failure.text("status")), MaxErrorCode),
		ErrorMessage: diag.Cut(cmp.Or(data.text("error_message"),
			failure.text("message"), data.text("error")), MaxErrorMessage),
	}
}

// holdsItems reports whether an output holds responses inline: a list, or a list inside one or two
// objects, as in the batch. It searches no deeper, so that deep nesting cannot make it slow.
func holdsItems(output json.RawMessage) bool {
	for range 3 {
		if list, ok := bytes.CutPrefix(output, []byte("[")); ok {
			return !bytes.HasPrefix(bytes.TrimSpace(list), []byte("]"))
		}
		holder := object(output)
		output = nil
		for _, key := range []string{"inlinedEmbedContentResponses", "inlined_responses", "inlinedResponses"} {
			if raw := holder.get(key); raw != nil {
				output = raw
			}
		}
	}
	return false
}
