// Package gcloud runs scripts/deploy, scripts/teardown and scripts/doctor with simulated programs: a
// gcloud, a curl, a go, a terraform and a sleep that record how they were called, and answer from a
// table. The recorded calls show what the scripts would do in a project. Whether the real gcloud
// accepts them is not tested.
package gcloud

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// programs are the simulated ones.
var programs = []string{"gcloud", "curl", "go", "terraform", "sleep"}

// TestMain is also the simulated programs: links to this test's own binary.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if os.Getenv(envWorld) == "" || !slices.Contains(programs, name) {
		os.Exit(m.Run())
	}
	code, err := pretend(name)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the pretended", name+":", err)
		code = 100
	}
	os.Exit(code)
}

// The variables that tell a pretended program where its table is, and where it writes down its
// calls.
const (
	envWorld = "PRETENDED_WORLD"
	envCalls = "PRETENDED_CALLS"
)

// check is the call that has the code look at settings, needs the one that says who asks Gemini
// with them.
const (
	check = "go run ./scripts/stage/check "
	needs = "go run ./scripts/stage/ask needs"
)

// A rule answers calls whose command line, joined with spaces, matches the pattern.
type rule struct {
	Pattern, Out, Err string
	Code              int
	Times             int // so many calls; 0: all of them
}

// answers reports whether the rule is for a call after the earlier ones, which before reads.
func (r rule) answers(line string, before func() ([]call, error)) (bool, error) {
	pattern := regexp.MustCompile(r.Pattern)
	if !pattern.MatchString(line) || r.Times == 0 {
		return pattern.MatchString(line), nil
	}
	calls, err := before()
	answered := 0
	for _, c := range calls {
		if pattern.MatchString(c.Line) {
			answered++
		}
	}
	return answered < r.Times, err
}

// A world answers by the first rule that matches, and otherwise with nothing and success.
type world []rule

// A call is how a program was called.
type call struct {
	Line  string // joined with spaces
	Args  []string
	Stdin string   // of those that read it
	Env   []string // of what asks the code about settings, or Gemini
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
	c := call{
		Line: strings.Join(append([]string{name}, os.Args[1:]...), " "), Args: append([]string{name}, os.Args[1:]...),
	}
	if name == "curl" || strings.Contains(c.Line, "--data-file=-") {
		stdin, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 0, err
		}
		c.Stdin = string(stdin)
	}
	if strings.HasPrefix(c.Line, check) || c.Line == needs || strings.HasPrefix(c.Line, "go run ./scripts/opledger ") {
		c.Env = os.Environ()
	}
	line, err := json.Marshal(c)
	if err != nil {
		return 0, err
	}
	code, err = w.answer(c.Line)
	calls, openErr := os.OpenFile(os.Getenv(envCalls), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if openErr != nil {
		return 0, openErr
	}
	_, writeErr := calls.Write(append(line, '\n'))
	return code, errors.Join(err, writeErr, calls.Close())
}

// answer prints what the first rule for a command line says, and returns its exit code.
func (w world) answer(line string) (code int, err error) {
	before := sync.OnceValues(func() ([]call, error) { return readCalls(os.Getenv(envCalls)) })
	for _, r := range w {
		if matches, err := r.answers(line, before); err != nil {
			return 0, err
		} else if matches {
			_, outErr := os.Stdout.WriteString(r.Out)
			_, stderrErr := os.Stderr.WriteString(r.Err)
			return r.Code, errors.Join(outErr, stderrErr)
		}
	}
	return 0, nil
}
