package ledger

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

func TestRuleOf(t *testing.T) {
	t.Parallel()
	for effect, want := range map[string]string{
		"": "", "page": "page", "page@stuck-1": "page", "publish@n@ce": "publish", "@": "",
		runOf("page", "missing-12"): "page",
	} {
		if got := RuleOf(effect); got != want {
			t.Errorf("%q is a run of %q, want %q", effect, got, want)
		}
	}
}

// TestSubjectKey: a message about a subject finds its documents again, whatever its id, and no
// operation's [K1].
func TestSubjectKey(t *testing.T) {
	t.Parallel()
	for subject, want := range map[operation.Key]operation.Key{
		"webhooks/abc-123":         "webhooks/abc-123",
		"intents/run 17":           "intents/run 17",
		"intents/batches/abc":      "intents/batches%2Fabc",
		"intents/c ":               "intents/c%20",
		"intents/a\x00\xff/\u2028": "intents/a%00%FF%2F%E2%80%A8",
	} {
		got, err := subjectKey(subject)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", subject, got, err, want)
		}
		text, err := json.Marshal(Message{Operation: got, Effect: "page@unbound-1", Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		if m, err := ParseMessage(text); err != nil || m.Operation != got {
			t.Errorf("%q: its message is read as one about %q, %v", subject, m.Operation, err)
		}
	}
	for _, subject := range []operation.Key{
		"", "webhooks", "webhooks/", "/abc", "batches/abc", " webhooks/abc",
		operation.Key("intents/" + strings.Repeat("x", 2000)),
	} {
		if got, err := subjectKey(subject); !errors.Is(err, ErrInvalid) {
			t.Errorf("%.40q: %q, %v, want ErrInvalid", subject, got, err)
		}
	}
}
