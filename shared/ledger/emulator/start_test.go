package emulator

import (
	"errors"
	"strings"
	"testing"
)

// script is the command of an emulator that is a shell script. Its $1 is the port.
func script(text string) func(host, port string) []string {
	return func(_, port string) []string { return []string{"sh", "-c", text, "sh", port} }
}

// TestStartTakesTheNextPort: an emulator that could not bind its port stays alive, as Pub/Sub's does,
// or ends. Either way the next port is tried at once.
func TestStartTakesTheNextPort(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]string{
		"stays alive":        "echo java.net.BindException: Address already in use; exec sleep 600",
		"writes it in parts": "printf java.net.Bind; sleep 0.1; echo Exception; exec sleep 600",
		"ends":               "exit 1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried := t.TempDir() + "/tried"
			p, err := start(t.Context(), "the test's", "now listening", script(
				"if mkdir "+tried+"; then "+fails+"; fi; echo now listening; exec sleep 600"))
			if err != nil {
				t.Fatal(err)
			}
			p.Stop()
		})
	}
}

// TestStartGivesUp: an emulator that can bind no port is an error that says what it wrote.
func TestStartGivesUp(t *testing.T) {
	t.Parallel()
	_, err := start(t.Context(), "the test's", "now listening", script("echo BindException of $1; exec sleep 600"))
	if !errors.Is(err, errEnded) || strings.Count(err.Error(), "BindException of 2") != maxStarts {
		t.Errorf("got %v, want what each of %d starts wrote", err, maxStarts)
	}
}
