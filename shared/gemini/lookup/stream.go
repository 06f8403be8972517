package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxToken bounds what reading one token takes from an answer, in bytes: a decoder holds a whole text at once.
	maxToken = 32 << 20
	// maxDepth bounds nesting, which a decoder remembers; it is encoding/json's own bound.
	maxDepth = 10000
)

// A stream reads JSON of any size by its tokens. At most one token is in memory.
type stream struct {
	*json.Decoder
	meter *meter
	depth int
}

func newStream(body io.Reader) *stream {
	s := &stream{meter: &meter{Reader: body}}
	s.Decoder = json.NewDecoder(s.meter)
	s.UseNumber() // else a number beyond all measure is an error
	return s
}

// token returns the next token. An end where more is due is io.ErrUnexpectedEOF within a value, as io.EOF elsewhere.
func (s *stream) token() (json.Token, error) {
	s.meter.read = 0
	token, err := s.Token()
	switch token {
	case json.Delim('{'), json.Delim('['):
		s.depth++
	case json.Delim('}'), json.Delim(']'):
		s.depth--
	}
	if s.depth > maxDepth {
		return nil, errors.New("the answer is nested too deep")
	}
	if err != nil && s.depth > 0 && errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return token, err //nolint:wrapcheck // io.EOF must stay io.EOF
}

// document reads an object that is all there is; for each of its members, member must read the value.
func (s *stream) document(member func(key string) error) error {
	token, err := s.token()
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the answer is empty")
	case err != nil:
		return err
	case token != json.Delim('{'):
		return errors.New("the answer is not a JSON object")
	}
	if err := s.members(member); err != nil {
		return err
	}
	if _, err := s.token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the answer")
	}
	return nil
}

// object reads a value; for each member of an object, member must read its value. Anything but an object is skipped.
func (s *stream) object(member func(key string) error) error {
	token, err := s.token()
	if err != nil || token != json.Delim('{') {
		return s.skipRest(token, err)
	}
	return s.members(member)
}

// members reads an object whose first token was read.
func (s *stream) members(member func(key string) error) error {
	for s.More() {
		token, err := s.token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("%v is no member's name", token)
		}
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := s.token()
	return err
}

// list reads a list, or null for an empty one; item must read each of its values.
func (s *stream) list(item func() error) error {
	token, err := s.token()
	if err != nil || token == nil {
		return err
	}
	if token != json.Delim('[') {
		return errors.New("what should be a list is none")
	}
	for s.More() {
		if err := item(); err != nil {
			return err
		}
	}
	_, err = s.token()
	return err
}

// skip reads a value and keeps nothing of it.
func (s *stream) skip() error {
	token, err := s.token()
	return s.skipRest(token, err)
}

// skipRest is skip where the first token of the value was read.
func (s *stream) skipRest(token json.Token, err error) error {
	outside := s.depth
	if _, opened := token.(json.Delim); opened {
		outside--
	}
	for err == nil && s.depth > outside {
		_, err = s.token()
	}
	return err
}

// text reads a value into to if it is a text.
func (s *stream) text(to *string) error {
	token, err := s.token()
	if text, ok := token.(string); ok && err == nil {
		*to = text
	}
	return s.skipRest(token, err)
}

// scalar reads a value into to if it is a text or a number.
func (s *stream) scalar(to *string) error {
	token, err := s.token()
	switch value := token.(type) {
	case string:
		*to = value
	case json.Number:
		*to = value.String()
	}
	return s.skipRest(token, err)
}

// holdsItems sets to if the value is an object around inlinedResponses that are a list with something in it.
func (s *stream) holdsItems(to *bool) error {
	return s.object(func(key string) error {
		token, err := s.token()
		if err == nil && key == "inlinedResponses" && token == json.Delim('[') && s.More() {
			*to = true
		}
		return s.skipRest(token, err)
	})
}

// A meter fails the reading of a token that is too large.
type meter struct {
	io.Reader
	read int
}

// Read implements io.Reader. It reads little at once, so that what a decoder reads ahead counts for next to nothing.
func (m *meter) Read(p []byte) (int, error) {
	if m.read > maxToken {
		return 0, fmt.Errorf("%w: one value is more than %d bytes", errTooLarge, maxToken)
	}
	n, err := m.Reader.Read(p[:min(len(p), 64<<10)])
	m.read += n
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
