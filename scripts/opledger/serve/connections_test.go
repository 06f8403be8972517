package serve_test

import (
	"bufio"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/test/commandtest"
	"github.com/opledger/opledger/test/harness"
)

// TestServeIdleConnections: idle connections to the port for a tunnel, more than the process may have
// files open, delay neither that port nor the main one [W7].
func TestServeIdleConnections(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "a limit of open files is not tried")
	binary := filepath.Join(t.TempDir(), "opledger")
	if err := harness.Build("", "github.com/opledger/opledger/scripts/opledger", binary); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(shell, "-c", `ulimit -n 256; exec "$0" "$@"`, binary, "serve", "--port", "0",
		"--webhook-listen", "127.0.0.1:0", "--store", commandtest.NewFile(t).Store())
	command.Env = []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1"}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	command.Stderr = &log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("%v: %s", err, log.String())
		}
	}()
	var main, webhook string
	for lines := bufio.NewScanner(out); webhook == "" && lines.Scan(); {
		if address, found := strings.CutPrefix(lines.Text(), "opledger serves on http://"); found {
			main = address
		}
		_, webhook, _ = strings.Cut(lines.Text(), "opledger serves /webhook alone on http://")
	}
	for range 400 {
		connection, err := net.Dial("tcp", webhook)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for address, status := range map[string]int{main + "/health": 200, webhook + "/webhook": 405} {
		answer, err := client.Get("http://" + address)
		if err != nil {
			t.Errorf("not within 5 s: %v", err)
			continue
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != status {
			t.Errorf("%s: %s, %v", address, answer.Status, err)
		}
	}
}
