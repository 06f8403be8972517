package operation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"
)

// Metadata is a submitter's data about its operation: a JSON object as text, or nothing. It is text
// because a document store refuses some keys that a submitter may choose.
type Metadata string

// ErrMetadata is wrapped by every error about metadata.
var ErrMetadata = errors.New("metadata is not a JSON object")

// ParseMetadata returns text without white space, if it is a JSON object. Nothing, null and {} are
// empty. The error wraps ErrMetadata.
func ParseMetadata(text []byte) (Metadata, error) {
	if len(text) == 0 {
		return "", nil
	}
	var checked struct{} // nothing is stored: it may be larger than metadata can be
	if err := decodeMetadata(text, &checked); err != nil {
		return "", err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMetadata, err)
	}
	if m := compact.String(); m != "{}" && m != "null" {
		return Metadata(m), nil
	}
	return "", nil
}

// Add returns m with the fields of other that m does not have: a second registration may add
// fields, but never change one.
func (m Metadata) Add(other Metadata) (Metadata, error) {
	mine, err := metadataFields([]byte(m))
	theirs, otherErr := metadataFields([]byte(other))
	if err := errors.Join(err, otherErr); err != nil {
		return m, err
	}
	all := make(map[string]json.RawMessage, len(mine)+len(theirs))
	maps.Copy(all, theirs)
	maps.Copy(all, mine) // where both have a field, that of m stays
	if len(all) == len(mine) {
		return m, nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // the submitter's own text stays as it is
	if err := encoder.Encode(all); err != nil {
		return m, fmt.Errorf("encoding merged metadata: %w", err)
	}
	return Metadata(bytes.TrimSpace(text.Bytes())), nil
}

// Compare returns the names of the fields of other that m does not have, and of those that have
// another value in m. White space and the order of keys make no difference.
func (m Metadata) Compare(other Metadata) (missing, different []string, err error) {
	mine, err := metadataFields([]byte(m))
	theirs, otherErr := metadataFields([]byte(other))
	if err := errors.Join(err, otherErr); err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		value, has := mine[name]
		switch {
		case !has:
			missing = append(missing, name)
		case !reflect.DeepEqual(meaning(value), meaning(theirs[name])):
			different = append(different, name)
		}
	}
	return missing, different, nil
}

// meaning returns a JSON value for comparison. Numbers stay as they are written.
func meaning(text json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(text) // it cannot fail: text was decoded before
	}
	return value
}

// MarshalJSON writes the object itself, not its text.
func (m Metadata) MarshalJSON() ([]byte, error) {
	if m == "" {
		return []byte("null"), nil
	}
	return []byte(m), nil
}

// UnmarshalJSON reads an object.
func (m *Metadata) UnmarshalJSON(text []byte) error {
	parsed, err := ParseMetadata(text)
	if err != nil {
		return err
	}
	*m = parsed
	return nil
}

func metadataFields(text []byte) (map[string]json.RawMessage, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var fields map[string]json.RawMessage
	return fields, decodeMetadata(text, &fields)
}

func decodeMetadata(text []byte, into any) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: it is not UTF-8", ErrMetadata)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return unfit(err)
	}
	return nil
}

// unfit returns why a text is no metadata, in JSON's words instead of those of Go's decoder.
func unfit(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: it is not JSON (byte %d)", ErrMetadata, syntax.Offset)
	}
	return fmt.Errorf("%w, such as {\"dataset\":\"a\"}", ErrMetadata)
}
