package machine

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/test/documents"
	"github.com/opledger/opledger/test/harness"
)

// A host is a machine with opledger, in a folder that stands for /.
type host struct {
	t      *testing.T
	folder string
	paths  *strings.Replacer
}

func newHost(t *testing.T) host {
	t.Helper()
	folder := t.TempDir()
	h := host{t, folder, strings.NewReplacer(
		installed, filepath.Join(folder, "opledger"), "/var/lib/opledger", filepath.Join(folder, "opledger-state"),
		" -o opledger ", " ", // who runs this test
	)}
	for _, state := range []string{"/var/lib/opledger", "/var/lib/opledger-backups"} { // as StateDirectory= does
		if err := os.Mkdir(h.paths.Replace(state), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := harness.Build(root, "./scripts/opledger", h.paths.Replace(installed)); err != nil {
		t.Fatal(err)
	}
	return h
}

// command is what a unit's service runs, with the settings of opledger.env and more.
func (h host) command(name string, more ...string) *exec.Cmd {
	h.t.Helper()
	u := readUnit(h.t, name)
	args := make([]string, len(u.exec))
	for i, word := range u.exec {
		args[i] = h.paths.Replace(word)
	}
	command := exec.CommandContext(h.t.Context(), args[0], args[1:]...)
	command.Dir = h.paths.Replace("/var/lib/opledger")
	for _, variable := range append(u.environment, more...) {
		command.Env = append(command.Env, h.paths.Replace(variable))
	}
	return command
}

// serve starts opledger.service, and returns its address and what ends it. Its log is appended to a file.
func (h host) serve(more ...string) (url string, end func(os.Signal)) {
	h.t.Helper()
	for line := range strings.Lines(read(h.t, "opledger.env")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			more = append(more, line)
		}
	}
	command := h.command("opledger.service", append(more, "PORT=0", "GEMINI_API_KEY=k",
		"GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1")...)
	log, err := os.OpenFile(filepath.Join(h.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		h.t.Fatal(err)
	}
	command.Stderr = log
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "opledger serves on ")
	end = func(signal os.Signal) {
		_ = command.Process.Signal(signal)
		_, _ = io.Copy(io.Discard, out)
		_ = command.Wait() // by the signal
		_ = log.Close()
	}
	if err != nil || !found {
		end(os.Kill)
		h.t.Fatalf("serve says %q: %v\n%s", line, err, h.log())
	}
	return url, end
}

func (h host) log() string {
	text, _ := os.ReadFile(filepath.Join(h.folder, "log"))
	return string(text)
}

// register registers an operation, as a program does that was given the token.
func (h host) register(url, name string) {
	h.t.Helper()
	token, err := os.ReadFile(h.paths.Replace("/var/lib/opledger/opledger.db.token"))
	if err != nil {
		h.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, url+"/register",
		strings.NewReader(fmt.Sprintf(`{"name":%q}`, name)))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusCreated {
		h.t.Fatalf("registering %s: %s, %v", name, answer.Status, err)
	}
}

// opledger runs a command on the ledger.
func (h host) opledger(variables []string, args ...string) string {
	h.t.Helper()
	command := h.command("opledger-backup.service", variables...)
	command.Args = append(command.Args[:1], args...)
	out, err := command.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestBackupTimer: what the timer starts makes a backup while serve runs, and keeps 14. After the disk was lost the
// commands of the page put the newest in its place, and what was registered since comes back from the log.
func TestBackupTimer(t *testing.T) {
	t.Parallel()
	bash := harness.Program(t, "bash", "the commands of the page are not run")
	h := newHost(t)
	backups := h.paths.Replace("/var/lib/opledger-backups")
	for day := range 14 {
		old := filepath.Join(backups, fmt.Sprintf("opledger-202011%02dT023000Z.db", day+1))
		if err := os.WriteFile(old, []byte("of long ago"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	url, end := h.serve()
	h.register(url, "batches/before")
	if out, err := h.command("opledger-backup.service").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	kept, err := filepath.Glob(backups + "/opledger-*.db")
	if err != nil || len(kept) != 14 || strings.Contains(kept[0], "20201101") {
		t.Errorf("there are %q: %v", kept, err)
	}
	h.register(url, "batches/after")
	end(os.Kill)

	var script bytes.Buffer
	fmt.Fprintf(&script, "set -e\nsystemctl() { :; }\njournalctl() { cat %q; }\n", filepath.Join(h.folder, "log"))
	for _, block := range documents.For(t, root, "TestBackupTimer") {
		for _, command := range block.Commands {
			script.WriteString(h.paths.Replace(command.Text) + "\n")
		}
	}
	restore := exec.CommandContext(t.Context(), bash)
	restore.Stdin = &script
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if listed := h.opledger(nil, "list"); !strings.Contains(listed, "batches/before") ||
		strings.Contains(listed, "batches/after") {
		t.Errorf("the restored ledger has %s", listed)
	}
	restored := []string{
		"OPLEDGER_EFFECTS_PAUSED=true", "OPLEDGER_RESTORED_AT=" + time.Now().UTC().Format(time.RFC3339),
	}
	h.opledger(slices.Concat(restored, []string{"GEMINI_API_KEY=k"}), "recover", "--log", backups+"/lost.json", "--yes")
	_, end = h.serve(restored...)
	if listed := h.opledger(nil, "list"); strings.Count(listed, "batches/") != 2 {
		t.Errorf("after recover the ledger has %s", listed)
	}
	end(os.Interrupt)
}
