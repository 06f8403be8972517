package phrase

import "testing"

// TestReadable: what an error quotes is shown without its escapes, whole or cut; what that brings back
// of control characters is not.
func TestReadable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`answered 500: "{\"error\":\"disk full\"}"`: `answered 500: {"error":"disk full"}`,
		`answered 500: "{\"error\":\"disk…`:         `answered 500: {"error":"disk…`,
		`it ends: "a \"quote\""`:                    `it ends: a "quote"`,
		`effect "publish": no`:                      `effect "publish": no`,
		`said "a\x1b[2J\n"; then "b\"c"`:            `said a\x1b[2J\n; then b"c`,
		`no \" Go "\q"`:                             `no \" Go "\q"`, "": "-", `cut "a\`: `cut "a\`,
	} {
		if got := Readable(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestReceiver: the host that an error names.
func TestReceiver(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`failed attempts: 1 within 0s; the last error: http://127.0.0.1:8091 answered 500`: "127.0.0.1:8091",
		`https://hooks.example: dial tcp: refused`:                                         "hooks.example",
		`Post "https://hooks.example/a": EOF`:                                              "hooks.example",
		`https://hooks.example`:                                                            "hooks.example",
		"the receiver answered 503":                                                        "", "https://": "",
	} {
		if got := Receiver(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a b": "A b", "élan": "Élan", "1 a": "1 a", "": "", "opledger serve is down": "opledger serve is down",
	} {
		if got := Sentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
