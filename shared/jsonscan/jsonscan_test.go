package jsonscan_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/jsonscan"
)

// tree reads a value as encoding/json does.
func tree(c *jsonscan.Cursor) (value any) {
	switch c.Kind() {
	case '{':
		object := map[string]any{}
		c.Object(func(key []byte) { object[string(key)] = tree(c) })
		return object
	case '[':
		list := []any{}
		c.List(func(index int) {
			if index != len(list) {
				panic(fmt.Sprintf("element %d is called %d", len(list), index))
			}
			list = append(list, tree(c))
		})
		return list
	case '"':
		return string(jsonscan.Text(c.Value()))
	default:
		if err := json.Unmarshal(c.Value(), &value); err != nil {
			return err
		}
		return value
	}
}

var samples = []string{
	`{}`, `[]`, ` [ ] `, `null`, `true`, `-1.5e3`, `"a"`, `"\u00fc\ud800\"\\"`, `{"a":1,"a":2}`,
	`"\ud800udc00 \ud83d\ude00"`,
	"\n{ \"a\\n\" : [ 1 , {\"b\":[]} , \"]}\" ] ,\t\"c\" : { } , \"d\": false }\n",
	`[[[[{"x":[{}]}]]],"\\",{"":""}]`,
	`{`, `{"a"`, `{"a":`, `["`, `]`, `{]`, `[}`, `{1:2}`, `,`, `[,]`, `{"a" "b"}`, `"\`, "", `[1 2]`, `{"a":}`,
}

// TestCursor: every JSON text reads as encoding/json reads it, whole or skipped.
func TestCursor(t *testing.T) {
	t.Parallel()
	for _, text := range samples {
		check(t, text)
	}
}

func check(t *testing.T, text string) {
	t.Helper()
	got := tree(jsonscan.New([]byte(text))) // of what is no JSON it returns something, and ends
	var want any
	if json.Unmarshal([]byte(text), &want) != nil || !utf8.ValidString(text) {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: read as %v, want %v", text, got, want)
	}
	if value := jsonscan.New([]byte(text)).Value(); string(value) != strings.Trim(text, " \t\r\n") {
		t.Errorf("%s: skipped as %s", text, value)
	}
	c := jsonscan.New([]byte(text))
	c.Object(func([]byte) {}) // nothing is read
	if object, ok := want.(map[string]any); ok {
		for name, value := range object {
			var member any
			if err := json.Unmarshal(jsonscan.New([]byte(text)).Member(name), &member); err != nil ||
				!reflect.DeepEqual(member, value) {
				t.Errorf("%s: %q is %v, %v; want %v", text, name, member, err, value)
			}
		}
	}
	if c.Kind() != 0 || c.At() != len(text) {
		t.Errorf("%s: it ends at %d", text, c.At())
	}
	if jsonscan.New([]byte(text)).Member("there is none") != nil {
		t.Errorf("%s: a member that it does not have", text)
	}
}

// FuzzCursor: as TestCursor, of any text.
func FuzzCursor(f *testing.F) {
	for _, text := range samples {
		f.Add(text)
	}
	f.Fuzz(check)
}
