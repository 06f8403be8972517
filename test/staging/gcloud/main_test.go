// Package gcloud runs scripts/deploy, scripts/teardown and scripts/doctor against programs that only pretend: a gcloud, a curl
// and a go that write down how they were called and answer from a table. What the scripts would do in a project is seen in
// what they call; that gcloud would take it is for gcloud to say.
package gcloud

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMain is also the pretended programs: links to this test's own binary.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if os.Getenv(envWorld) == "" || name != "gcloud" && name != "curl" && name != "go" {
		os.Exit(m.Run())
	}
	code, err := pretend(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the pretended", name+":", err)
		code = 100
	}
	os.Exit(code)
}

// The variables that tell a pretended program where its table is, and where it writes down its calls.
const (
	envWorld = "PRETENDED_WORLD"
	envCalls = "PRETENDED_CALLS"
)

// A rule answers calls whose command line, joined with spaces, matches the pattern.
type rule struct {
	Pattern, Out string
	Code         int
}

// A world answers by the first rule that matches, and else with nothing and success.
type world []rule

// A call is how a program was called.
type call struct {
	Line  string // joined with spaces
	Args  []string
	Stdin string // of those that read it
}

func pretend(name string) (code int, err error) {
	text, err := os.ReadFile(os.Getenv(envWorld))
	if err != nil {
		return 0, err
	}
	var w world
	if err := json.Unmarshal(text, &w); err != nil {
		return 0, err
	}
	c := call{Line: strings.Join(append([]string{name}, os.Args[1:]...), " "), Args: append([]string{name}, os.Args[1:]...)}
	if name == "curl" || strings.Contains(c.Line, "--data-file=-") {
		stdin, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 0, err
		}
		c.Stdin = string(stdin)
	}
	line, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	calls, err := os.OpenFile(os.Getenv(envCalls), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	if _, err := calls.Write(append(line, '\n')); err != nil {
		return 0, err
	}
	if err := calls.Close(); err != nil {
		return 0, err
	}
	for _, r := range w {
		if regexp.MustCompile(r.Pattern).MatchString(c.Line) {
			_, err := os.Stdout.WriteString(r.Out)
			return r.Code, err
		}
	}
	return 0, nil
}
