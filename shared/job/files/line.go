package files

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/operation"
)

// A Line is a line of results.jsonl: what became of one request. With Request, it is one of failed.jsonl,
// which can be submitted as it is.
type Line struct {
	Key      string          `json:"key"`
	Request  json.RawMessage `json:"request,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    json.RawMessage `json:"error,omitempty"`
	Outcome  job.Outcome     `json:"outcome"`
	Why      string          `json:"why,omitempty"` // it is not done, for people
	Attempts int             `json:"attempts"`      // how often the request was sent
	Batch    operation.Key   `json:"batch,omitempty"`
}

// AppendTo appends the line with its newline. What Gemini sent is copied as it is: encoding it once more
// would cost more than all else.
func (l Line) AppendTo(to []byte) []byte {
	if len(l.Request)+len(l.Response)+len(l.Error) == 0 { // a line of results has one of the last two
		l.Error = append(appendText([]byte(`{"message":`), "opledger: "+l.Why), '}')
	}
	to = appendText(append(to, `{"key":`...), l.Key)
	for _, member := range []struct {
		name  string
		value json.RawMessage
	}{{"request", l.Request}, {"response", l.Response}, {"error", l.Error}} {
		if len(member.value) == 0 {
			continue
		}
		to = append(append(append(to, `,"`...), member.name...), `":`...)
		to = append(to, oneLine(member.value)...)
	}
	to = appendText(append(to, `,"outcome":`...), string(l.Outcome))
	if l.Why != "" {
		to = appendText(append(to, `,"why":`...), l.Why)
	}
	to = strconv.AppendInt(append(to, `,"attempts":`...), int64(l.Attempts), 10)
	if l.Batch != "" {
		to = appendText(append(to, `,"batch":`...), string(l.Batch))
	}
	return append(to, "}\n"...)
}

// appendText appends a JSON text.
func appendText(to []byte, text string) []byte {
	to, _ = jsontext.AppendQuote(to, text) // its error says that bytes which are not UTF-8 became U+FFFD
	return to
}

// oneLine returns a JSON value without line breaks.
func oneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 {
		return value
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return bytes.ReplaceAll(value, []byte("\n"), []byte(" "))
	}
	return compact.Bytes()
}
