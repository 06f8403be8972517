package results_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

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
