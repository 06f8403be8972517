package ledger

import (
	"errors"
	"testing"
)

func TestParseMessage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Message{
		`{"operation":"batches/a","effect":"publish"}`: {Operation: "batches/a", Effect: "publish"},
		`{"operation":" projects/p/locations/us/Batches/a/ ","effect":"publish","attempt":3}`: {
			Operation: "batches/a", Effect: "publish", Attempt: 3,
		},
	} {
		if got, err := ParseMessage([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "{}", "[]", "null", `{"operation":"batches/a"}`, `{"effect":"publish"}`, `{"operation":7,"effect":"x"}`,
	} {
		if _, err := ParseMessage([]byte(text)); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v, want ErrMessage", text, err)
		}
	}
}
