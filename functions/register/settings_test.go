package register_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestBadSettings: the function that runs says all that is wrong with its own settings, nothing about others', and does not
// start. Its init does that, so this test's own program is the deployed one.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = []string{"FUNCTION_TARGET=Register", "OPLEDGER_GRACE=soon", "OPLEDGER_TOLERANCE=soon", "OPLEDGER_EFFECT_ALLOW_PRIVATE=perhaps", "PORT=http"}
	printed, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v, want exit code 1; it printed %s", err, printed)
	}
	var line struct{ Problems []string }
	if err := json.Unmarshal(printed, &line); err != nil {
		t.Fatalf("not one line of JSON: %v in %s", err, printed)
	}
	var got []string
	for _, problem := range line.Problems {
		variable, _, _ := strings.Cut(problem, ":")
		got = append(got, variable)
	}
	slices.Sort(got)
	if want := []string{"GOOGLE_CLOUD_PROJECT", "OPLEDGER_GRACE", "OPLEDGER_TOPIC"}; !slices.Equal(got, want) {
		t.Errorf("problems of %q, want of %q", got, want)
	}
}
