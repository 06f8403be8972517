package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
)

// read reads what a text has under the keys text, scalar, list and items, at any depth of the key
// in.
func read(text string) (got []string, err error) {
	j := api.NewJSON(strings.NewReader(text))
	var member func(key string) error
	member = func(key string) error {
		var value string
		var err error
		switch key {
		case "text":
			err = j.Text(&value)
		case "scalar":
			err = j.Scalar(&value)
		case "list":
			return j.List(func() error {
				got = append(got, "list")
				return j.Skip()
			})
		case "items":
			return readItems(j, &got)
		case "in":
			return j.Object(member)
		default:
			return j.Skip()
		}
		got = append(got, key+" "+value)
		return err
	}
	return got, j.Document(member)
}

// readItems reads the first item of a list and leaves the others.
func readItems(j *api.JSON, got *[]string) error {
	found, err := j.EnterList()
	if err != nil || !found {
		return err
	}
	item, err := j.Item()
	if err != nil {
		return err
	}
	*got = append(*got, "item "+string(item))
	return j.LeaveList()
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{}`:                          nil,
		`{"text":"a","scalar":1e999}`: {"text a", "scalar 1e999"},
		`{"text":[{"text":"no"}],"scalar":null,"text":7,"text":"b"}`:   {"text ", "scalar ", "text ", "text b"},
		`{"x":{"text":"no"},"in":{"in":{"text":"a"},"y":[[]]},"in":3}`: {"text a"},
		`{"list":[1,{"x":[]},null],"list":null,"list":[]}`:             {"list", "list", "list"},
		`{"items":[ {"a": [1] } ,[2],3],"text":"a"}`:                   {`item {"a": [1] }`, "text a"},
		`{"items":[],"items":{"a":1},"items":null,"text":"a"}`:         {"text a"},
	} {
		got, err := read(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v, -want +got\n%s", text, err, diff)
		}
	}
	for text, says := range map[string]string{
		``: "empty", ` `: "empty", `[]`: "not a JSON object", `null`: "not a JSON object", `{} {}`: "something follows",
		`{"list":7}`: "not a list", `{"x":` + strings.Repeat("[", 10001): "nested too deep",
	} {
		if _, err := read(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20s: %v, want %q", text, err, says)
		}
	}
}

// TestJSONCutShort: a text that ends too early is an error wherever it ends.
func TestJSONCutShort(t *testing.T) {
	t.Parallel()
	const text = `{"text":"a","list":[1,[2]],"in":{"items":[{"a":1},2]},"x":[{}]}`
	for end := 1; end < len(text); end++ {
		if _, err := read(text[:end]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", text[:end], err)
		}
	}
}

// TestItem: the items of a list, one after the other, and io.EOF after the last.
func TestItem(t *testing.T) {
	t.Parallel()
	j := api.NewJSON(strings.NewReader(`[1,"two",{"three":[3]},null]`))
	if found, err := j.EnterList(); err != nil || !found {
		t.Fatal(found, err)
	}
	for _, want := range []string{`1`, `"two"`, `{"three":[3]}`, `null`} {
		if got, err := j.Item(); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	if _, err := j.Item(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v", err)
	}
}

// TestLargeItem: behind a large item, or a large value before the list, everything is read as behind
// any other. That the memory is given back is TestRoomInline's, of results.
func TestLargeItem(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2<<20)
	item := `{"a":["` + large + `"]}`
	text := `{"x":["` + large + `"],"in":{"in":{"y":{"items":0},"items":[` + item + `,2]},"items":[3, ` + item + ` ,4],` +
		`"items":[` + item + `]},"text":"a"}`
	want := []string{"item " + item, "item 3", "item " + item, "text a"}
	if got, err := read(text); err != nil || !slices.Equal(got, want) {
		t.Errorf("%d of %d, %v", len(got), len(want), err)
	}
	j := api.NewJSON(strings.NewReader("[" + item + ` , "b",` + item + "]"))
	if found, err := j.EnterList(); err != nil || !found {
		t.Fatal(found, err)
	}
	for _, want := range []string{item, `"b"`, item} {
		if got, err := j.Item(); err != nil || string(got) != want {
			t.Errorf("an item of %d bytes, %v, want %d", len(got), err, len(want))
		}
	}
	if _, err := j.Item(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last: %v", err)
	}
}

// endless is a text without end, with this before it.
func endless(before string) io.Reader {
	chunk := strings.Repeat("x", 1<<20)
	parts := []io.Reader{strings.NewReader(before)}
	for range api.MaxValueBytes>>20 + 2 {
		parts = append(parts, strings.NewReader(chunk))
	}
	return io.MultiReader(parts...)
}

// TestJSONTooLarge: what must be held in memory is bounded; what is skipped is not, but for one
// token of it.
func TestJSONTooLarge(t *testing.T) {
	t.Parallel()
	j := api.NewJSON(endless(`{"x":"`))
	if err := j.Document(func(string) error { return j.Skip() }); !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("a text: %v", err)
	}
	j = api.NewJSON(endless(`[["`))
	if found, err := j.EnterList(); err != nil || !found {
		t.Fatal(found, err)
	}
	if _, err := j.Item(); !errors.Is(err, api.ErrTooLarge) {
		t.Errorf("an item: %v", err)
	}
}

// FuzzJSON: Document reads exactly what encoding/json takes for an object.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":[[[{"b":[1,]`))
	f.Add([]byte(`{"items":[{"text":"a"}],"list":[1],"in":{"text":1e999}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j := api.NewJSON(strings.NewReader(string(text)))
		err := j.Document(func(string) error { return j.Skip() })
		var object map[string]json.RawMessage
		plain := json.Unmarshal(text, &object)
		if plain == nil && object == nil {
			plain = fmt.Errorf("null is no object")
		}
		if (err == nil) != (plain == nil) {
			t.Fatalf("%v, but encoding/json: %v", err, plain)
		}
	})
}

// TestBool: only true and false decide.
func TestBool(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{"a":true}`: true, `{"a":false}`: false} {
		var got bool
		j := api.NewJSON(strings.NewReader(text))
		if err := j.Document(func(string) error { return j.Bool(&got) }); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"a":"true"}`, `{"a":1}`, `{"a":null}`, `{"a":[true]}`} {
		got := false
		j := api.NewJSON(strings.NewReader(text))
		if err := j.Document(func(string) error { return j.Bool(&got) }); err == nil || got {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

// TestRaw: any value, as it was written.
func TestRaw(t *testing.T) {
	t.Parallel()
	var raw json.RawMessage
	var after string
	j := api.NewJSON(strings.NewReader(`{"raw": {"a":[1, 2]} ,"after":"b"}`))
	err := j.Document(func(key string) error {
		if key == "raw" {
			return j.Raw(&raw)
		}
		return j.Text(&after)
	})
	if err != nil || string(raw) != `{"a":[1, 2]}` || after != "b" {
		t.Errorf("%s, %q, %v", raw, after, err)
	}
}
