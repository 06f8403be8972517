package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// inline are the items in a batch's own JSON. They stand in it twice, in metadata.output and in response; what comes first is
// read, and the rest of the answer left alone.
type inline struct {
	decoder *json.Decoder
	meter   *meter
	raw     json.RawMessage
}

func newInline(body io.Reader) *inline {
	m := &meter{Reader: body}
	return &inline{decoder: json.NewDecoder(m), meter: m}
}

// errFound ends the search in the middle of the answer.
var errFound = errors.New("found")

// find goes to the first list of items that is not empty. Where there is none it returns the file that the batch names, if any.
func (i *inline) find() (file string, found bool, err error) {
	output := func(member string) error {
		switch member {
		case "responsesFile":
			return i.text(&file)
		case "inlinedResponses", "inlinedEmbedContentResponses":
			return i.object(func(string) error { return i.enterList() })
		}
		return i.skip()
	}
	err = i.object(func(member string) error {
		switch member {
		case "metadata":
			return i.object(func(member string) error {
				if member == "output" {
					return i.object(output)
				}
				return i.skip()
			})
		case "response":
			return i.object(output)
		}
		return i.skip()
	})
	if errors.Is(err, errFound) {
		return "", true, nil
	}
	return file, false, unexpected(err)
}

// next returns the text of the next element of the list that find entered.
func (i *inline) next() ([]byte, error) {
	i.meter.read = 0
	if !i.decoder.More() {
		if _, err := i.decoder.Token(); err != nil { // else an answer that was cut short would look like one that is over
			return nil, fmt.Errorf("downloading the results: %w", unexpected(err))
		}
		return nil, io.EOF
	}
	i.raw = i.raw[:0]
	if err := i.decoder.Decode(&i.raw); err != nil {
		return nil, fmt.Errorf("downloading the results: %w", unexpected(err))
	}
	return i.raw, nil
}

// unexpected makes an end where more is due unlike the end of the items.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// enterList returns errFound within a list that is not empty; any other value is passed over.
func (i *inline) enterList() error {
	token, err := i.token()
	if err == nil && token == json.Delim('[') && i.decoder.More() {
		return errFound
	}
	return i.skipRest(token, err)
}

func (i *inline) token() (json.Token, error) {
	i.meter.read = 0
	return i.decoder.Token()
}

// object reads a value; for each member of an object, member must read its value. Anything but an object is passed over.
func (i *inline) object(member func(name string) error) error {
	token, err := i.token()
	if err != nil || token != json.Delim('{') {
		return i.skipRest(token, err)
	}
	for i.decoder.More() {
		token, err := i.token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // of an object's member it is one
		if err := member(name); err != nil {
			return err
		}
	}
	_, err = i.token()
	return err
}

func (i *inline) text(to *string) error {
	token, err := i.token()
	if text, ok := token.(string); ok {
		*to = text
	}
	return i.skipRest(token, err)
}

// skip passes over a value.
func (i *inline) skip() error {
	token, err := i.token()
	return i.skipRest(token, err)
}

// skipRest is skip where the first token of the value was read.
func (i *inline) skipRest(token json.Token, err error) error {
	depth := 0
	for {
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if err != nil || depth <= 0 {
			return err
		}
		token, err = i.token()
	}
}

// A meter fails the reading of a value that is too large: a decoder holds all of it.
type meter struct {
	io.Reader
	read int
}

// Read implements io.Reader. It reads little at once, so that what a decoder reads ahead counts for next to nothing.
func (m *meter) Read(p []byte) (int, error) {
	if m.read > MaxItemBytes {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxItemBytes)
	}
	n, err := m.Reader.Read(p[:min(len(p), 64<<10)])
	m.read += n
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}
