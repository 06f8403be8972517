package gemini

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/operation"
)

// Bounds on what an event may bring into a record, which is one document of at most 1 MiB: a
// completion must not be lost because its error was verbose. In bytes.
const (
	maxErrorMessage = 4 << 10
	maxErrorCode    = 128
	maxFieldsListed = 40
)

// An object is a JSON object whose values are read only when asked for. A nil object has no fields.
type object map[string]json.RawMessage

// text returns a field that is a text, without white space around it; "" for anything else.
func (o object) text(key string) string {
	raw := o[key]
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

// firstText returns the first of these fields that is a text with something in it.
func (o object) firstText(keys ...string) string {
	for _, key := range keys {
		if text := o.text(key); text != "" {
			return text
		}
	}
	return ""
}

// scalar returns a field that is a text or a number, as text: error codes are both.
func (o object) scalar(key string) string {
	if raw := o[key]; kindOf(raw) == "a number" {
		return string(raw)
	}
	return o.text(key)
}

// first returns the first of these fields that is there at all.
func (o object) first(keys ...string) json.RawMessage {
	for _, key := range keys {
		if raw, has := o[key]; has {
			return raw
		}
	}
	return nil
}

// object returns a field that is an object; nil for anything else.
func (o object) object(key string) object {
	raw := o[key]
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	var fields object
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil
	}
	return fields
}

// names lists the fields of an envelope and its data, for an error to show what there is [K3].
func (o object) names(data object) []string {
	names := slices.Collect(maps.Keys(o))
	for key := range data {
		names = append(names, "data."+key)
	}
	slices.Sort(names)
	for i, name := range names {
		quoted := diag.QuoteUpTo(name, maxQuoted)
		names[i] = diag.Cut(quoted[1:len(quoted)-1], maxQuoted)
	}
	if len(names) > maxFieldsListed {
		names = names[:maxFieldsListed]
	}
	return names
}

// kindOf says what a JSON value is. Values of an object that was read have no white space before
// them.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '"':
		return "an empty text" // it is only asked about texts that were none
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

// readResult reads what data says beside the state, in every spelling that was ever documented: a
// file is output_file_uri or video_uri, else file_name or file_id; an error is error_code and
// error_message, or error{code, message}; an output is that of the batch itself.
func readResult(data object) operation.Result {
	failure, output := data.object("error"), data.object("output")
	return operation.Result{
		OutputFile: firstOf(
			data.firstText("output_file_uri", "video_uri", "file_name", "file_id"),
			output.firstText("responsesFile", "responses_file")),
		Inline: holdsItems(data["output"]),
		ErrorCode: diag.Cut(firstOf(data.scalar("error_code"),
			failure.scalar("code"), failure.text("status")), maxErrorCode),
		ErrorMessage: diag.Cut(firstOf(data.text("error_message"),
			failure.text("message"), data.text("error")), maxErrorMessage),
	}
}

// holdsItems reports whether an output holds responses itself: a list, or one or two objects around
// a list, as the batch has it. It looks no deeper, so that no nesting makes it slow.
func holdsItems(output json.RawMessage) bool {
	for range 3 {
		if list, ok := bytes.CutPrefix(output, []byte("[")); ok {
			return !bytes.HasPrefix(bytes.TrimSpace(list), []byte("]"))
		}
		output = object{"": output}.object("").first("inlinedResponses", "inlined_responses", "inlinedEmbedContentResponses")
	}
	return false
}

// firstOf returns the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
