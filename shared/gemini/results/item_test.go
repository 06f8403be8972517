package results_test

import (
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

// largeText is too large for an item.
func largeText() string { return strings.Repeat("x", results.MaxItemBytes) }
