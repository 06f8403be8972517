package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxValueBytes bounds what one text, or one value of [JSON.Item], may take of an answer: it is
// held in memory whole.
const MaxValueBytes = 32 << 20

// keptBytes is about what a reader keeps of an item when it was read. A decoder's buffer would stay
// twice as large as the largest value.
const keptBytes = 1 << 20

// maxDepth bounds nesting, which a decoder remembers; it is encoding/json's own bound.
const maxDepth = 10000

// JSON reads a JSON text of any size, of which it holds one token at a time, or one item of a list.
// Beside an item it holds little: of what was larger it gives the memory back.
// A value larger than MaxValueBytes is an error that wraps ErrTooLarge; a text that is cut short is
// one that wraps io.ErrUnexpectedEOF.
//
// Each method that reads a value must be called where one begins: at the beginning, for a member of
// an object, or for an item of a list.
type JSON struct {
	decoder *json.Decoder
	meter   *meter
	open    []byte // the { and [ of the values that it is in
	item    json.RawMessage
}

// NewJSON returns a reader of the JSON text in body.
func NewJSON(body io.Reader) *JSON {
	m := &meter{Reader: body}
	return &JSON{decoder: newDecoder(m), meter: m}
}

func newDecoder(text io.Reader) *json.Decoder {
	decoder := json.NewDecoder(text)
	decoder.UseNumber() // else a number that no float64 holds is an error
	return decoder
}

// shrink replaces a decoder whose buffer has grown. In a list it stands behind an item, or with first
// before the first: the new decoder is brought there by a text that opens the same values.
func (j *JSON) shrink(first bool) error {
	if !j.meter.grown {
		return nil
	}
	rest, err := io.ReadAll(j.decoder.Buffered()) // copied, since it is in the buffer
	if err != nil {
		return fmt.Errorf("reading on: %w", err)
	}
	opening := strings.ReplaceAll(string(j.open), "{", `{"":`)
	if !first {
		opening += "[]"
	}
	j.meter.grown = false
	j.decoder = newDecoder(io.MultiReader(strings.NewReader(opening), bytes.NewReader(rest), j.meter))
	for int(j.decoder.InputOffset()) < len(opening) {
		if _, err := j.decoder.Token(); err != nil {
			return fmt.Errorf("reading on: %w", err)
		}
	}
	return nil
}

// next returns the next token; io.EOF where there is none at all.
func (j *JSON) next() (json.Token, error) {
	j.meter.read = 0
	token, err := j.decoder.Token()
	switch delim, _ := token.(json.Delim); delim {
	case '{', '[':
		j.open = append(j.open, byte(delim))
	case '}', ']':
		j.open = j.open[:len(j.open)-1]
	}
	if len(j.open) > maxDepth {
		return nil, errors.New("the answer is nested too deep")
	}
	return token, err //nolint:wrapcheck // io.EOF must stay io.EOF
}

// token is next where there must be a token.
func (j *JSON) token() (json.Token, error) {
	token, err := j.next()
	return token, Unexpected(err)
}

// Unexpected makes the end of a text or a content that is too short an error as for one that is cut.
func Unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Document reads an object that is the whole text; member must read the value of each of its
// members.
func (j *JSON) Document(member func(key string) error) error {
	token, err := j.next()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the answer is empty")
	case err != nil:
		return err
	case token != json.Delim('{'):
		return errors.New("the answer is not a JSON object")
	}
	if err := j.members(member); err != nil {
		return err
	}
	if _, err := j.next(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the answer")
	}
	return nil
}

// Object reads a value. Of an object, member must read the value of each member; any other value is
// skipped.
func (j *JSON) Object(member func(key string) error) error {
	token, err := j.token()
	if err != nil || token != json.Delim('{') {
		return j.skipRest(token, err)
	}
	return j.members(member)
}

// members reads an object whose first token was read.
func (j *JSON) members(member func(key string) error) error {
	for j.decoder.More() {
		token, err := j.token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("a member's name is %v, not a text", token)
		}
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := j.token()
	return err
}

// List reads a list, or null for an empty one; item must read each of its values. Any other value
// is an error.
func (j *JSON) List(item func() error) error {
	token, err := j.token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return errors.New("the value is not a list")
	}
	return j.items(item)
}

// Each is List, but skips any other value.
func (j *JSON) Each(item func() error) error {
	token, err := j.token()
	if err != nil || token != json.Delim('[') {
		return j.skipRest(token, err)
	}
	return j.items(item)
}

// items reads a list whose first token was read.
func (j *JSON) items(item func() error) error {
	for j.decoder.More() {
		if err := item(); err != nil {
			return err
		}
	}
	_, err := j.token()
	return err
}

// EnterList reads the beginning of a list that has an item, and reports true: Item returns its
// items, and LeaveList skips them. Any other value is skipped, an empty list too.
func (j *JSON) EnterList() (bool, error) {
	token, err := j.token()
	if err == nil && token == json.Delim('[') && j.decoder.More() {
		return true, j.shrink(true)
	}
	return false, j.skipRest(token, err)
}

// Item returns the text of the next item of the list that EnterList entered, valid until the next
// call; io.EOF after the last.
func (j *JSON) Item() (json.RawMessage, error) {
	if !j.decoder.More() {
		if _, err := j.token(); err != nil { // else a list that was cut short would look like one that has ended
			return nil, err
		}
		return nil, io.EOF
	}
	j.meter.read = 0
	if j.item = j.item[:0]; cap(j.item) > keptBytes {
		j.item = nil
	}
	if err := j.decoder.Decode(&j.item); err != nil {
		return nil, Unexpected(err)
	}
	return j.item, j.shrink(false)
}

// LeaveList skips the rest of the list that EnterList entered.
func (j *JSON) LeaveList() error { return j.skipRest(json.Delim('['), nil) }

// Skip reads a value and keeps nothing of it.
func (j *JSON) Skip() error {
	token, err := j.token()
	return j.skipRest(token, err)
}

// skipRest is Skip where the first token of the value was read.
func (j *JSON) skipRest(token json.Token, err error) error {
	outside := len(j.open)
	if _, opened := token.(json.Delim); opened {
		outside--
	}
	for err == nil && len(j.open) > outside {
		_, err = j.token()
	}
	return err
}

// Text reads a value into to if it is a text.
func (j *JSON) Text(to *string) error {
	token, err := j.token()
	if text, ok := token.(string); ok && err == nil {
		*to = text
	}
	return j.skipRest(token, err)
}

// Scalar reads a value into to if it is a text or a number.
func (j *JSON) Scalar(to *string) error {
	token, err := j.token()
	switch value := token.(type) {
	case string:
		*to = value
	case json.Number:
		*to = value.String()
	}
	return j.skipRest(token, err)
}

// Bool reads a value that must be true or false.
func (j *JSON) Bool(to *bool) error {
	token, err := j.token()
	if err != nil {
		return err
	}
	value, ok := token.(bool)
	if !ok {
		return errors.New("the value is not true or false")
	}
	*to = value
	return nil
}

// Raw reads any value into to, as it was written.
func (j *JSON) Raw(to *json.RawMessage) error {
	j.meter.read = 0
	return Unexpected(j.decoder.Decode(to))
}

// A meter fails the reading of a token that is too large, which a decoder would hold.
type meter struct {
	io.Reader
	read  int
	grown bool // a value took so much that the decoder's buffer is large
}

// Read implements io.Reader. It reads little at once, so that what a decoder reads ahead counts for
// next to nothing.
func (m *meter) Read(p []byte) (int, error) {
	if m.read > MaxValueBytes {
		return 0, fmt.Errorf("%w: one value is more than %d bytes", ErrTooLarge, MaxValueBytes)
	}
	n, err := m.Reader.Read(p[:min(len(p), 64<<10)])
	m.read += n
	m.grown = m.grown || m.read > keptBytes
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
