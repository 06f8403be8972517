package files

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

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
func (l Line) AppendTo(to []byte) ([]byte, error) {
	to, err := appendText(append(to, `{"key":`...), l.Key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	if len(l.Request)+len(l.Response)+len(l.Error) == 0 { // a line of results has one of the last two
		if l.Error, err = json.Marshal(map[string]string{"message": "opledger: " + l.Why}); err != nil {
			return nil, fmt.Errorf("encoding an error: %w", err)
		}
	}
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
	to, err = appendText(append(to, `,"outcome":`...), string(l.Outcome))
	if err == nil && l.Why != "" {
		to, err = appendText(append(to, `,"why":`...), l.Why)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding an outcome: %w", err)
	}
	to = strconv.AppendInt(append(to, `,"attempts":`...), int64(l.Attempts), 10)
	if l.Batch != "" {
		if to, err = appendText(append(to, `,"batch":`...), string(l.Batch)); err != nil {
			return nil, fmt.Errorf("encoding a batch: %w", err)
		}
	}
	return append(to, "}\n"...), nil
}

// appendText appends a JSON text as encoding/json writes it, which costs more than all else where nothing is to
// be escaped.
func appendText(to []byte, text string) ([]byte, error) {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b > '~' || strings.IndexByte(`"\<>&`, b) >= 0 {
			encoded, err := json.Marshal(text)
			return append(to, encoded...), err //nolint:wrapcheck // the caller says what was encoded
		}
	}
	return append(append(append(to, '"'), text...), '"'), nil
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
