package results_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/operation"
)

// TestKeys: a key is printable and short enough for a header, and two that differ stay two.
func TestKeys(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	keys := []string{
		strings.Repeat("k", 5000) + "1",
		strings.Repeat("k", 5000) + "2",
		`a\nb`,
		`a\rb`,
		`a_b`,
		` a`,
		`a`,
		`日本 語`,
		`\ud800`,
		`\u0000`,
	}
	for _, k := range keys {
		fmt.Fprintf(&text, "{\"key\":\"%s\",\"response\":1}\n", k)
	}
	got, err := read(serve(t, says(text.String())), operation.Result{OutputFile: file})
	if err != nil || len(got) != len(keys) {
		t.Fatalf("%d %v", len(got), err)
	}
	seen := map[string]bool{}
	for _, item := range got {
		if seen[item.Key] || len(item.Key) > 256 || !utf8.ValidString(item.Key) || strings.ContainsAny(item.Key, "\n\r\x00") {
			t.Errorf("key %q", item.Key)
		}
		seen[item.Key] = true
	}
	for _, same := range []string{"a_b", "a", "日本 語"} {
		if !seen[same] {
			t.Errorf("the key %q was changed", same)
		}
	}
}

// TestSubmitted: the exact key, whatever it holds and wherever it is, and nothing that the reader made
// up [K4].
func TestSubmitted(t *testing.T) {
	t.Parallel()
	at512, at4096 := strings.Repeat("k", 512), strings.Repeat("k", 4<<10)
	for line, want := range map[string]string{
		`{"key":" a\tb~\u0000 ","response":1}`:    " a\tb~\x00 ",
		`{"key":"日本 \u8a9e","error":{"code":13}}`: "日本 語",
		`{"key":"` + at512 + `","response":1}`:    at512,
		`{"key":"` + at4096 + `","response":1}`:   at4096,
		`{"key":"` + at4096 + `x","response":1}`:  at4096,
		`{"key":17,"response":1}`:                 "17",
		`{"key":"\ud800","response":1}`:           "\uFFFD",
		`{"response":1,"metadata":{"key":"\nm"}}`: "\nm",
		`{"key":"a"}`:                "a",
		`{"response":1}`:             "",
		`{"key":["a"],"response":1}`: "",
		`["a"]`:                      "",
		`{"key":" a","response":"` + largeText() + `"}`: " a",
	} {
		reader, err := serve(t, says(line+"\n")).Open(t.Context(), key, operation.Result{OutputFile: file})
		if err != nil {
			t.Fatal(err)
		}
		reader.ByPosition()
		items, err := all(reader)
		if err != nil || len(items) != 1 || items[0].Submitted != want {
			t.Errorf("%.40s: %d items, %v, want the key %.40q", line, len(items), err, want)
		}
	}
	inline := `{"metadata":{"output":{"inlinedResponses":{"inlinedResponses":[{"metadata":{"key":" i"},"response":1}]}}}}`
	items, err := read(serve(t, says(inline)), operation.Result{Inline: true})
	if err != nil || len(items) != 1 || items[0].Submitted != " i" || items[0].Key == " i" {
		t.Errorf("inline: %+v, %v", items, err)
	}
}

// TestItemsAsJSON: an item is what encoding/json makes of its line, however its members are spelled.
func TestItemsAsJSON(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"key":"a","response":{"b":[1, 2]}}`, ` { "key" : "a" , "error" : {"code":13} } `, `{"KEY":"a","Response":1}`,
		`{"\u006bey":"a","response":1}`, "{\"\u212aey\":\"a\",\"re\u017fponse\":1}",
		`{"key":"a","key":"b","response":1,"response":2}`, `{"key":"a","Key":"b","response":1}`,
		`{"key":"a","response":1,"RESPONSE":null}`, `{"key":null,"metadata":{"key":"m"},"response":1}`,
		`{"key":"","metadata":{"KEY":7},"response":1}`, `{"key":-0.5e3,"response":1}`,
		`{"key":true,"metadata":7,"response":1}`, `{"key":"a","response":null,"error":null}`,
		`{"key":"a","response":1,"error":{}}`, `{}`, `null`, `[]`, `7`, `"a"`, `{"key":"a"`,
		"{\"key\":\"\xff\",\"response\":\"\xff\"}", "{\"key\":\"a\",\"\xff\":1,\"response\":1}",
		`{"key":"\ud83d\ude00\ud800","response":1}`,
	} {
		var want struct{ Key, Metadata, Response, Error json.RawMessage }
		usable := json.Unmarshal([]byte(line), &want) == nil
		items, err := read(serve(t, says(line+"\n{}\n")), operation.Result{OutputFile: file})
		if err != nil || len(items) != 2 {
			t.Fatalf("%s: %d items, %v", line, len(items), err)
		}
		got := items[0]
		there := func(value json.RawMessage) bool { return len(value) > 0 && string(value) != "null" }
		switch failed := there(want.Error); {
		case failed && string(got.Error) == string(want.Error):
		case !failed && there(want.Response) && string(got.Response) == string(want.Response):
		case !failed && got.Response == nil && strings.Contains(string(got.Error), "opledger: "):
		default:
			t.Errorf("%s: %s, %s", line, got.Response, got.Error)
		}
		if key := keyOf(want.Key, want.Metadata); usable && got.Submitted != key || !usable && got.Submitted != "" {
			t.Errorf("%s: the key is %q, want %q", line, got.Submitted, key)
		}
	}
}

// keyOf returns the first of an item's keys that is a text or a number.
func keyOf(key, metadata json.RawMessage) string {
	var in struct{ Key json.RawMessage }
	_ = json.Unmarshal(metadata, &in) // no object: no key
	for _, raw := range []json.RawMessage{key, in.Key} {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		var number json.Number
		if json.Unmarshal(raw, &number) == nil && number != "" {
			return number.String()
		}
	}
	return ""
}

// largeText is too large for an item.
func largeText() string { return strings.Repeat("x", results.MaxItemBytes) }
