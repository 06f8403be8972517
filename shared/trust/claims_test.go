package trust_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestUndocumentedClaims: the names of undocumented claims are logged once, only for verified
// tokens, and never with a value.
func TestUndocumentedClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const value = "value-that-is-nobodys-business"
	long := strings.Repeat("n", 1000)
	token := rs256(publishedKey(), goodHeader, goodClaims(start,
		map[string]any{"event": value, "body_hash": value, long: value}))
	forged := rs256(forgersKey(), goodHeader, goodClaims(start, map[string]any{"forged": value}))
	for range 3 {
		if err := w.verify(headers(start, token), start); err != nil {
			t.Fatal(err)
		}
		if err := w.verify(headers(start, forged), start); err == nil {
			t.Fatal("W1: forged and accepted")
		}
	}
	var names []string
	for _, line := range w.log.Drain(t) {
		silent(t, fmt.Sprint(line), value)
		names = append(names, line["claim"].(string))
	}
	if len(names) != 3 || !slices.Contains(names, "event") || !slices.Contains(names, "body_hash") || len(names[2]) > 64 {
		t.Errorf("logged %q", names)
	}
	for i := range 100 {
		token := rs256(publishedKey(), goodHeader, goodClaims(start, map[string]any{fmt.Sprint("claim", i): value}))
		if err := w.verify(headers(start, token), start); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.log.Drain(t)); n != 61 {
		t.Errorf("%d more names logged, want 61 to make 64", n)
	}
}
