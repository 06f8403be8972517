package sqlite

import (
	"reflect"
	"testing"
)

// TestWithUnknown: what an older revision writes keeps the members that it has no field for, and no
// other [L5]. A damaged body has none.
func TestWithUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, stored, want string }{
		{`{}`, `{"added":1}`, `{"added":1}`},
		{`{"Text":"new"}`, `{"text":"old","b":[1],"a":"<"}`, `{"Text":"new","a":"<","b":[1]}`},
		{`{"Text":"new"}`, `{"text":`, `{"Text":"new"}`},
		{`{"Text":"new"}`, `["text"]`, `{"Text":"new"}`},
	} {
		got, err := withUnknown([]byte(c.body), []byte(c.stored), reflect.TypeFor[doc]())
		if err != nil || string(got) != c.want {
			t.Errorf("%s over %s: %s, %v, want %s", c.body, c.stored, got, err, c.want)
		}
	}
}
