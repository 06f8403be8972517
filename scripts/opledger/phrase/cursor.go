package phrase

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/opledger/opledger/shared/ledger"
)

// Cursor encodes a cursor as one word; the zero Cursor is empty.
func Cursor(c ledger.Cursor) string {
	if c.Path == "" {
		return ""
	}
	text, _ := json.Marshal(c) // a time and a string, which cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// ErrCursor: the text is not one that Cursor returned.
var ErrCursor = errors.New("it is not the cursor of a next page")

// ParseCursor is the reverse of Cursor. Its error is ErrCursor.
func ParseCursor(text string) (c ledger.Cursor, err error) {
	if text == "" {
		return c, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &c) != nil || c.Path == "" {
		return ledger.Cursor{}, ErrCursor
	}
	return c, nil
}
