package infra_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// programDir is where opledger is built.
var programDir string

// program builds opledger, once.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programDir, "opledger")
	return path, harness.Build("", "github.com/opledger/opledger/scripts/opledger", path)
})

// A shell is that of the operator on call: gcloud and opledger in the PATH, no source tree, and what the
// blocks before have exported.
type shell struct {
	o     *oncall
	given map[string]string // what the reader fills in, by variable
	stdin string            // what the reader types
	may   []string          // commands that may fail: they report what is wrong with their exit code
}

// wrap runs a block in a shell that goes on after a command that fails, as a terminal does, and keeps the
// commands that failed, and the variables for the next block.
const wrap = `set -o pipefail
. "$SHIFT/state"
trap 'printf "%%s\n" "$BASH_COMMAND" >>"$SHIFT/failed"' ERR
%s
trap - ERR
export -p >"$SHIFT/state"
`

// notes are what opledger says on stderr of what it uses.
var notes = regexp.MustCompile(`(?m)^opledger: (?:the ledger is in|effects that may be planned:) .*\n`)

var fillIn = regexp.MustCompile(`([A-Z]+)=…`)

// run runs a block as it is printed, and returns what it printed. Messages that it publishes are pushed
// meanwhile.
func (s *shell) run(block string) string {
	o := s.o
	o.Helper()
	block = fillIn.ReplaceAllStringFunc(block, func(hole string) string {
		name, _, _ := strings.Cut(hole, "=")
		value, ok := s.given[name]
		if !ok {
			o.Errorf("the test does not say what the reader fills in for %s", name)
		}
		return name + "='" + value + "'"
	})
	ctx, cancel := context.WithTimeout(o.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf(wrap, block))
	command.WaitDelay = time.Second // a program that the shell has started keeps its output open
	command.Dir = o.folder
	command.Env = []string{
		"PATH=" + o.folder + ":/usr/bin:/bin", "HOME=" + o.folder, "SHIFT=" + o.folder,
		"GOGC=400", // a command ends so soon that to collect its garbage only costs: a quarter of its time
		"CURL_CA_BUNDLE=" + filepath.Join(o.folder, "site.pem"),
		"SECRET_MANAGER_EMULATOR_HOST=" + o.secrets.Addr(), "PUBSUB_EMULATOR_HOST=" + o.topic.addr, "GCLOUD=" + o.gcloud,
	}
	var printed, complained bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(s.stdin), &printed, &complained
	if err := command.Start(); err != nil {
		o.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for running := true; running; {
		select {
		case err := <-ended:
			if running = false; err != nil {
				o.Errorf("a block could not be run: %v\n%s\n%s", err, block, &complained)
			}
		case <-o.topic.came:
		case <-time.After(50 * time.Millisecond): // nothing tells when the functions have published
		}
		o.push()
	}
	s.judge(block, complained.String())
	return printed.String() + notes.ReplaceAllString(complained.String(), "")
}

// judge fails for each command of the block that failed, and may not.
func (s *shell) judge(block, complained string) {
	o := s.o
	o.Helper()
	file := filepath.Join(o.folder, "failed")
	failed, err := os.ReadFile(file)
	if err != nil {
		return // none
	}
	for line := range strings.Lines(string(failed)) {
		line = strings.TrimSpace(line)
		if !slices.ContainsFunc(s.may, func(may string) bool { return strings.Contains(line, may) }) {
			o.Errorf("%s failed: %s\nin the block\n%s", line, complained, block)
		}
	}
	if err := os.Remove(file); err != nil {
		o.Error(err)
	}
}
