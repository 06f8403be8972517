package infra_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// A stopped process is opledger serve after SIGSTOP.
type stopped struct {
	*exec.Cmd
	url, port string
}

// stopServe starts opledger serve under a name of its own, and stops it.
func stopServe(t *testing.T, name string) stopped {
	t.Helper()
	built, err := program()
	folder := t.TempDir()
	if err == nil {
		err = os.Symlink(built, filepath.Join(folder, name))
	}
	s := stopped{Cmd: exec.Command(filepath.Join(folder, name), "serve", "--port", "0", "--schedule=false")}
	s.Env = []string{"HOME=" + folder, "OPLEDGER_STORE=sqlite:" + filepath.Join(folder, "ledger.db"),
		"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"}
	var complained bytes.Buffer
	s.Stderr = &complained
	out, pipeErr := s.StdoutPipe()
	if err != nil || pipeErr != nil || s.Start() != nil {
		t.Fatalf("%s: %v, %v", name, err, pipeErr)
	}
	t.Cleanup(func() {
		_ = s.Process.Kill() // it may have ended
		_ = s.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	s.url = strings.TrimSpace(strings.TrimPrefix(line, "opledger serves on "))
	_, s.port, _ = strings.Cut(s.url, "127.0.0.1:")
	if err != nil || s.port == "" {
		_ = s.Wait()
		t.Fatalf("%s said %q, %v: %s", name, line, err, &complained)
	}
	var status syscall.WaitStatus
	if err := s.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(s.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("%s does not stand still: %v, %v", name, err, status)
	}
	return s
}

// stands reports whether the process is still stopped.
func (s stopped) stands(t *testing.T) bool {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(stat), ") T ")
}

// TestPlaybookOfServeThatHangs: what the playbook does to a serve that does not answer reaches the process that listens
// on its port, whatever its program is called, and no other serve of the machine.
func TestPlaybookOfServeThatHangs(t *testing.T) {
	t.Parallel()
	harness.Program(t, "fuser", "what the playbook of a serve that hangs does is not tested")
	fix := readPlaybooks(t)["reconcile-absent"].blocks["Fix"]
	i := slices.IndexFunc(fix, func(block string) bool { return strings.Contains(block, "-CONT") })
	if i < 0 {
		t.Fatalf("no block continues a process: %q", fix)
	}
	hangs, other := stopServe(t, "of-another-name"), stopServe(t, "opledger")
	run := func(s stopped, how string) {
		t.Helper()
		block := strings.NewReplacer("PORT=…", "PORT="+s.port, "-CONT", how).Replace(fix[i])
		out, err := exec.CommandContext(t.Context(), "bash", "-c", block).CombinedOutput()
		if err != nil || !strings.Contains(string(out), fmt.Sprint(s.Process.Pid)) {
			t.Errorf("%s: %s, %v; want process %d", block, out, err, s.Process.Pid)
		}
	}
	run(hangs, "-CONT")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, hangs.url+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s, %v", answer.Status, err)
	}
	if !other.stands(t) {
		t.Error("another serve was continued")
	}
	run(other, "-KILL")
	if _ = other.Wait(); other.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("it ended with %v", other.ProcessState)
	}
}
