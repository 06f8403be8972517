// Package jsonscan reads JSON in place. It makes no tree and no copy of what it reads: the maps and
// values that encoding/json makes of a text of many short members take eighty times its size, so a
// few bodies of a megabyte could end a small process. A text must have been checked before, with
// json.Valid and as UTF-8. Of any other text a Cursor returns something, and never panics.
package jsonscan

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// A Cursor stands in front of a value of a text, or behind the last.
type Cursor struct {
	text []byte
	at   int
	key  []byte // of the member that was read last, where it had an escape
}

// New returns a cursor in front of the first value of text.
func New(text []byte) *Cursor { return &Cursor{text: text} }

// Kind returns the first byte of the next value: one of {["tfn, a digit or a minus sign; 0 at the
// end.
func (c *Cursor) Kind() byte {
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// At returns where in the text the cursor stands, in bytes.
func (c *Cursor) At() int { return c.at }

// Value reads the next value whole, and returns it without the white space around it.
func (c *Cursor) Value() []byte {
	kind := c.Kind()
	began := c.at
	switch kind {
	case '"':
		c.skipText()
	case '{', '[':
		c.skipNested()
	default:
		c.skipScalar()
	}
	return c.text[began:c.at]
}

// Object reads the next value, and calls member for each of its members, if it is an object. The
// cursor then stands in front of the member's value. What member does not read is skipped. A key is
// valid until the cursor moves.
func (c *Cursor) Object(member func(key []byte)) {
	c.each('{', func(int) {
		key := c.Value()
		if bytes.IndexByte(key, '\\') < 0 {
			key = Text(key)
		} else {
			c.key, _ = jsontext.AppendUnquote(c.key[:0], key) // as Text does
			key = c.key
		}
		if c.Kind() == ':' {
			c.at++
		}
		c.orSkip(func() { member(key) })
	})
}

// List reads the next value, and calls element for each of its elements, if it is a list, as Object
// does.
func (c *Cursor) List(element func(index int)) {
	c.each('[', func(index int) { c.orSkip(func() { element(index) }) })
}

// each calls read in front of each part of the next value, if it is of that kind.
func (c *Cursor) each(kind byte, read func(index int)) {
	if c.Kind() != kind {
		c.Value()
		return
	}
	c.at++
	for index := 0; ; index++ {
		switch c.Kind() {
		case '}', ']':
			c.at++
			return
		case 0:
			return
		}
		began := c.at
		read(index)
		if c.Kind() == ',' {
			c.at++
		}
		if c.at == began { // it is no JSON
			c.at = len(c.text)
		}
	}
}

// orSkip calls read, and skips the next value if that has not read it.
func (c *Cursor) orSkip(read func()) {
	c.Kind()
	began := c.at
	if read(); c.at == began {
		c.Value()
	}
}

// skipScalar skips a number or a word.
func (c *Cursor) skipScalar() {
	for ; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return
		}
	}
}

// skipText skips a text with its quotes.
func (c *Cursor) skipText() {
	for c.at++; ; {
		size := bytes.IndexByte(c.text[c.at:], '"')
		if size < 0 {
			c.at = len(c.text)
			return
		}
		for quote := c.at + size; c.at <= quote; {
			escape := bytes.IndexByte(c.text[c.at:quote], '\\')
			if escape < 0 {
				c.at = quote + 1
				return
			}
			c.at += escape + len(`\"`)
		}
	}
}

// skipNested skips an object or a list.
func (c *Cursor) skipNested() {
	depth := 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			c.skipText()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if c.at++; depth == 0 {
			return
		}
	}
}

// Text returns the content of a JSON text, which it copies only to decode an escape; nil of anything
// else. Half a surrogate pair becomes U+FFFD, as with encoding/json.
func Text(value []byte) []byte {
	switch {
	case len(value) < 2 || value[0] != '"':
		return nil
	case bytes.IndexByte(value, '\\') < 0:
		return value[1 : len(value)-1]
	default:
		text, _ := jsontext.AppendUnquote(make([]byte, 0, len(value)), value) // its error says that there was half a pair
		return text
	}
}

// Member returns the value of an object's member of that name, the last where there are several;
// nil where there is none, or where the next value is no object.
func (c *Cursor) Member(name string) (value []byte) {
	c.In(name, func() { value = c.Value() })
	return value
}

// In reads the next value, and calls read for each of its members of that name, if it is an object, as
// Object does.
func (c *Cursor) In(name string, read func()) {
	c.Object(func(key []byte) {
		if string(key) == name {
			read()
		}
	})
}
