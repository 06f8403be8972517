package documents

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

const root = "../.."

// A session is one terminal in which the blocks of a document are typed, and its folder.
type session struct {
	t      *testing.T
	work   string
	port   string // in the place of 8080
	each   string // what precedes every command
	script strings.Builder
	checks []check
}

// A check is a command with the file that its output is in.
type check struct {
	Command
	output string
}

// TestDocumentedCommands: the commands of opledger in the documents do what is printed under them.
// Numbers, and what stands for …, may differ; so may the port, since another program may have it.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"bash", "curl", "openssl", "tail"} {
		harness.Program(t, program, "the commands of the documents are not run")
	}
	programs := programsIn(t)
	blocks := map[string][]Block{}
	for _, block := range For(t, root, "TestDocumentedCommands") {
		blocks[block.Document] = append(blocks[block.Document], block)
	}
	before := map[string]func(*session){
		"functions/effects/README.md": withDeadEffect, "shared/submit/README.md": withSimulator,
	}
	for document, its := range blocks {
		t.Run(document, func(t *testing.T) {
			t.Parallel()
			port, err := harness.FreePort(t)
			if err != nil {
				t.Fatal(err)
			}
			s := &session{t: t, work: t.TempDir(), port: strconv.Itoa(port)}
			s.line("export PATH=%s:$PATH HOME=$PWD PORT=%s NO_PROXY=127.0.0.1 no_proxy=127.0.0.1", programs, s.port)
			s.line(`server=; trap 'kill $server' EXIT`)
			if prepare := before[document]; prepare != nil {
				prepare(s)
			}
			for _, block := range its {
				for _, command := range block.Commands {
					s.add(command)
				}
			}
			s.run()
		})
	}
}

// programsIn returns a folder with opledger, and with a go that runs it where it would be built.
func programsIn(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := harness.Build(root, "./scripts/opledger", filepath.Join(folder, "opledger")); err != nil {
		t.Fatal(err)
	}
	from, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	shim := fmt.Sprintf("#!/bin/sh\ncase \"$1 $2\" in 'run ./scripts/opledger') shift 2; exec opledger \"$@\" ;; esac\n"+
		"cd %q && HOME=%q exec %q \"$@\"\n", from, os.Getenv("HOME"), harness.Program(t, "go", "nothing is run"))
	if err := os.WriteFile(filepath.Join(folder, "go"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

func (s *session) line(format string, args ...any) { fmt.Fprintf(&s.script, format+"\n", args...) }

var (
	serves   = regexp.MustCompile(`^(?:go run \./scripts/)?opledger serve\b`)
	delivers = regexp.MustCompile(`^(?:go run \./scripts/)?opledger webhook deliver\b`)
)

// add types a command. One that serves goes on until another does, or until the end.
func (s *session) add(c Command) {
	output := fmt.Sprintf("out.%d", len(s.checks))
	text := strings.ReplaceAll(c.Text, ":8080", ":"+s.port)
	if delivers.MatchString(text) { // to the port 8080, unless the flag names another
		text += " --to http://127.0.0.1:" + s.port + "/webhook"
	}
	if strings.Contains(text, " --simulate") {
		text += " --simulate-port 0"
	}
	s.line("%s", s.each)
	if serves.MatchString(text) {
		s.line(`[ -z "$server" ] || { kill $server; wait $server || :; }`)
		s.line("%s >%s 2>&1 & server=$!", text, output)
		s.line("grep -m1 -q '^opledger serves on' <(tail -n +1 -F --pid=$server %s 2>/dev/null) || exit 9", output)
	} else {
		s.line("{ %s\n} >%s 2>&1 <<<y; code=$?", text, output)
		s.line("[ $code %s 0 ] || { echo \"it ended with $code: \"%q >&2; cat %s >&2; exit 9; }",
			map[bool]string{false: "=", true: "!="}[c.fails()], text, output)
	}
	s.checks = append(s.checks, check{c, output})
}

// fails reports whether what is printed is an error.
func (c Command) fails() bool {
	text := strings.Join(c.Output, "\n")
	return strings.Contains(text, "exit status") || strings.Contains(text, " problems, and nothing was done") ||
		strings.HasPrefix(text, `{"error":`)
}

// run types everything, and looks for what is printed.
func (s *session) run() {
	s.t.Helper()
	command := exec.CommandContext(s.t.Context(), "bash")
	command.Dir, command.Stdin, command.Env = s.work, strings.NewReader(s.script.String()), unset(os.Environ())
	if out, err := command.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s\n%s", err, out, s.script.String())
	}
	for _, c := range s.checks {
		got, err := os.ReadFile(filepath.Join(s.work, c.output))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, line := range c.Output {
			if line != "" && !pattern(line).Match(got) {
				s.t.Errorf("%s does not print %q, but\n%s", c.Text, line, got)
			}
		}
	}
}

// unset returns variables without those that name a Gemini, a ledger or a project of the reader.
func unset(variables []string) []string {
	return slices.DeleteFunc(slices.Clone(variables), func(v string) bool {
		return slices.ContainsFunc([]string{"OPLEDGER_", "GEMINI_", "GOOGLE_", "CLOUDSDK_"}, func(prefix string) bool {
			return strings.HasPrefix(v, prefix)
		})
	})
}

// TestTerminal: a document's commands see no setting of the process that runs the tests.
func TestTerminal(t *testing.T) { //nolint:paralleltest // it sets variables
	harness.Program(t, "bash", "the commands of the documents are not run")
	theirs := []string{"GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "OPLEDGER_TOPIC", "CLOUDSDK_CORE_PROJECT"}
	for _, name := range theirs {
		t.Setenv(name, "real")
	}
	s := &session{t: t, work: t.TempDir()}
	s.line("env >out")
	s.run()
	got, err := os.ReadFile(filepath.Join(s.work, "out"))
	if err != nil || strings.Contains(string(got), "=real") || !strings.Contains(string(got), "PATH=") {
		t.Errorf("%v: %s", err, got)
	}
}

// pattern matches a printed line: its numbers, and what … stands for, may differ.
func pattern(line string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(line)
	quoted = strings.ReplaceAll(quoted, "…", ".*")
	return regexp.MustCompile(`(?m)^` + regexp.MustCompile(`\d+`).ReplaceAllString(quoted, `\d+`) + `$`)
}

// withSimulator gives a document's commands a simulated Gemini, and the files that they name.
func withSimulator(s *session) {
	s.line(`echo '{"key":"review-17","request":{"contents":[{"parts":[{"text":"good"}]}]}}' >reviews.jsonl`)
	s.add(Command{Text: "opledger serve --simulate --simulate-port 0"})
	s.line(`. "$(sed -n "s/^ *\\. '\\(.*\\)'/\\1/p" out.0)"`)
}

// withDeadEffect gives each of a document's commands a ledger in which an effect is dead, whose
// receiver would now take it.
func withDeadEffect(s *session) {
	var calls atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusGone)
		}
	}))
	s.t.Cleanup(receiver.Close)
	s.line("export GEMINI_API_KEY=dummy OPLEDGER_STORE=sqlite:opledger.db OPLEDGER_EFFECT_ALLOW_PRIVATE=true")
	s.line("export OPLEDGER_WEBHOOK_SECRET=whsec_$(openssl rand -base64 32)")
	s.line("export OPLEDGER_EFFECTS='[{name: publish, on: [SUCCEEDED], do: http, url: \"%s\"}]'", receiver.URL)
	for _, text := range []string{
		"opledger serve", "opledger register batches/abc123 --job-kind nightly-1",
		"opledger webhook deliver batch.succeeded batches/abc123",
		"! opledger wait batches/abc123", "kill $server; wait $server || :; server=", "opledger backup dead.backup",
	} {
		s.add(Command{Text: text})
	}
	s.each = "rm -f opledger.db*; cp dead.backup opledger.db"
}
