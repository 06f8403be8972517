// Package gcloud runs scripts/deploy, scripts/teardown and scripts/doctor with simulated programs: a
// gcloud, a curl, a go, a terraform and a sleep that record how they were called, and answer from a
// table: testdata/programs.sh. The recorded calls show what the scripts would do in a project. Whether
// the real gcloud accepts them is not tested.
package gcloud

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// check is the call that has the code look at settings, needs the one that says who asks Gemini
// with them.
const (
	check  = "go run ./scripts/stage/check "
	needs  = "go run ./scripts/stage/ask needs"
	masked = "go run ./scripts/stage/ask masked" // the one that masks effects

	askTables = `^go run \./scripts/stage/ask tables$`
)

// A rule answers calls whose command line, joined with spaces, matches the pattern: a POSIX extended
// regular expression.
type rule struct {
	Pattern, Out, Err string
	Code              int
	Times             int // so many calls; 0: all of them
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

// pretend puts the simulated programs of a world into a folder, and returns the environment in which
// they take the place of the real ones.
func (w world) pretend(t *testing.T, folder string) (env []string) {
	t.Helper()
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var text, candidates strings.Builder
	for i, r := range w {
		fmt.Fprintf(&text, "rule_pattern+=(%s) rule_out+=(%s) rule_err+=(%s) rule_code+=(%d) rule_times+=(%d)\n",
			quote(r.Pattern), quote(r.Out), quote(r.Err), r.Code, r.Times)
		fmt.Fprintf(&candidates, "%s*) candidates+=(%d) ;;&\n", beginning(r.Pattern), i)
	}
	fmt.Fprintf(&text, "candidates() { case $1 in\n%sesac; }\n", candidates.String())
	if err := os.WriteFile(filepath.Join(folder, "world"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{
		"PATH=" + filepath.Join(testdata, "bin") + ":/usr/bin:/bin", "BASH_ENV=" + filepath.Join(testdata, "programs.sh"),
		"PRETENDED=" + folder,
	}
}

// beginning returns how every text begins that matches a pattern, as the beginning of a pattern of
// the shell's case.
func beginning(pattern string) string {
	if anchored, ok := strings.CutPrefix(pattern, "^"); ok {
		prefix, _ := regexp.MustCompile(anchored).LiteralPrefix()
		return quote(prefix)
	}
	return "*"
}

// quote quotes a text for the shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// calls returns the calls that the programs in a folder recorded.
func calls(t *testing.T, folder string) (all []call) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "calls"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	next := func() string {
		field, rest, found := bytes.Cut(text, []byte{0})
		if !found {
			t.Fatalf("a call is recorded in part: %q", text)
		}
		text = rest
		return string(field)
	}
	several := func() (fields []string) {
		n, err := strconv.Atoi(next())
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			fields = append(fields, next())
		}
		return fields
	}
	for len(text) > 0 {
		c := call{Args: several(), Stdin: next(), Env: several()}
		c.Line = strings.Join(c.Args, " ")
		all = append(all, c)
	}
	return all
}
