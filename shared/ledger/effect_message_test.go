package ledger

import (
	"errors"
	"strings"
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
	const form, name = `it must be {"operation"`, "operation: not an operation's name: it is empty"
	for text, want := range map[string]string{
		"": form, "[]": form, `{"operation":7,"effect":"x"}`: form,
		"{}": name, "null": name, `{"effect":"publish"}`: name,
		`{"operation":"a","effect":"publish"}`:                                 `"a" has no collection; write batches/a`,
		`{"operation":"batches/a"}`:                                            "it names no effect",
		`{"operation":"batches/a","effect":"publish","rerun":"x","attempt":1}`: `"rerun" is for an operator's message`,
		`{"operation":"batches/a","effect":"publish@x","rerun":"y"}`:           `name the effect "publish"`,
	} {
		if _, err := ParseMessage([]byte(text)); !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrMessage with %s", text, err, want)
		}
	}
}
