package open_test

import (
	"html"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/commandtest"
)

// suggested finds commands on a ledger in a file whose path a shell must have quoted.
var suggested = regexp.MustCompile(`opledger (?:show|list|replay|wait)[^;.\n]*? --store 'sqlite:[^']*'`)

// pasted runs the suggested commands of a text as a shell would, and returns how many there are.
func pasted(t *testing.T, text string) int {
	t.Helper()
	lines := suggested.FindAllString(text, -1)
	for _, line := range lines {
		words, err := exec.Command("sh", "-c", `opledger() { printf '%s\n' "$@"; }; `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		args := strings.Split(strings.TrimSuffix(string(words), "\n"), "\n")
		if args[0] == "wait" {
			args = append(args, "--timeout", "1ms")
		}
		said := commandtest.Run(t, nil, args...)
		if strings.Contains(said.Err, "there is no ledger in") || said.Code == terminal.ExitUsage {
			t.Errorf("%s: %d %s", line, said.Code, said.Err)
		}
	}
	return len(lines)
}

// TestSuggestedCommandsRunElsewhere: the commands that status, show, errors and the pages of serve suggest run in
// another folder, also where the ledger was named by a path that is relative and has a space, by the flag or not.
func TestSuggestedCommandsRunElsewhere(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "of a team")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	f := commandtest.File{T: t, Path: filepath.Join(folder, "ledger.db")}
	f.Dead("batches/a")
	f.Register("batches/pending")
	f.EndTwice(operation.Key("batches/twice"))
	text := map[string]string{}
	t.Run("printed here", func(t *testing.T) {
		t.Chdir(folder)
		for _, named := range []struct{ variables, flag []string }{
			{flag: []string{"--store", "sqlite:./ledger.db"}},
			{variables: []string{"OPLEDGER_STORE=sqlite:ledger.db"}},
		} {
			for _, args := range []string{"status", "show batches/a", "show batches/none", "results batches/pending"} {
				said := commandtest.Run(t, named.variables, append(strings.Fields(args), named.flag...)...)
				text[strings.Join(append(named.variables, args), " ")] = said.Out + said.Err
			}
		}
		s := commandtest.Serving(t, []string{"OPLEDGER_STORE=sqlite:ledger.db"}, "--schedule=false")
		defer s.Stop()
		for _, page := range []string{"/console/operation?key=batches/a", "/console/operations?show=dead"} {
			answer, err := http.Get(s.URL + page)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK {
				t.Fatal(page, answer.Status, err)
			}
			text[page] = html.UnescapeString(string(body))
		}
	})
	t.Chdir(t.TempDir())
	for what, said := range text {
		if pasted(t, said) == 0 {
			t.Errorf("%s suggests no command on the ledger: %s", what, said)
		}
	}
}
