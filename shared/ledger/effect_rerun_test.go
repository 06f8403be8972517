package ledger

import (
	"strings"
	"testing"
)

// TestWithKey: only the key at the top is another one [K4], and the error says where a payload is broken.
func TestWithKey(t *testing.T) {
	t.Parallel()
	const payload = `{"metadata":{"idempotencyKey":"mine"}, "idempotencyKey":"old", "n":1.50}`
	want := strings.Replace(payload, `"old"`, `"new"`, 1)
	if got, err := withKey(payload, "new"); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	for broken, want := range map[string]string{
		"": "reading it: EOF", "{!": "reading it: invalid", `{"n":!`: "reading its n: ",
		`{"n":1}`: "it has no idempotencyKey",
	} {
		if got, err := withKey(broken, "new"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %s, %v, want %s", broken, got, err, want)
		}
	}
}
