package staging

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// client keeps no connections, so that a server that is killed leaves nothing behind.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}

// A server is a built function that runs.
type server struct {
	url     string
	command *exec.Cmd

	mu  sync.Mutex
	log bytes.Buffer
}

// start starts a program as Cloud Run does, with these variables and no others, and does not wait
// for it. It ends with the test.
func start(t testing.TB, binary, target string, variables ...string) *server {
	t.Helper()
	port, err := harness.FreePort(t)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://127.0.0.1:" + strconv.Itoa(port), command: exec.Command(binary)}
	s.command.Env = append([]string{
		"PORT=" + strconv.Itoa(port), "FUNCTION_TARGET=" + target, "FUNCTION_SIGNATURE_TYPE=http",
		"K_SERVICE=opledger-" + strings.ToLower(target), "K_REVISION=1",
		"K_CONFIGURATION=opledger-" + strings.ToLower(target),
	}, variables...)
	s.command.Stdout, s.command.Stderr = s, s
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	return s
}

// stop ends the server. Stopping twice is harmless.
func (s *server) stop() {
	_ = s.command.Process.Kill() // one that has ended by itself shows in what it did not answer
	_ = s.command.Wait()
}

// Write keeps the output of the server.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *server) printed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// first repeats a request until it is answered, which shows that the server has started.
func (s *server) first(t testing.TB, method, path, body string) int {
	t.Helper()
	var status int
	var err error
	eventually(t, 200*time.Microsecond, "an answer", func() bool {
		status, _, err = s.send(method, path, body, nil)
		return err == nil
	})
	return status
}

// patience is how long a test waits for what another process does: moments on an idle machine, and a
// busy one must not fail the test.
const patience = 5 * time.Minute

// eventually polls a condition that only another process can make true.
func eventually(t testing.TB, every time.Duration, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func (s *server) send(method, path, body string, header http.Header) (status int, answer string, err error) {
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // it was read to its end
	return response.StatusCode, string(text), err
}

// A firstRequest is answered without a store, with this status.
type firstRequest struct {
	method, path, body string
	status             int
}

// firstRequests are one that each function refuses.
var firstRequests = map[string]firstRequest{
	"webhook":   {http.MethodGet, "/", "", http.StatusMethodNotAllowed},
	"register":  {http.MethodGet, "/", "", http.StatusMethodNotAllowed},
	"reconcile": {http.MethodGet, "/", "", http.StatusMethodNotAllowed},
	"effects": {http.MethodPost, "/projects/p/topics/t",
		`{"message":{"data":"e30=","messageId":"1"},"subscription":"s"}`, http.StatusBadRequest},
}

// nowhere are stores that cannot be reached. On Google Cloud a client finds credentials; for an
// emulator it needs none.
var nowhere = []string{"FIRESTORE_EMULATOR_HOST=127.0.0.1:1", "PUBSUB_EMULATOR_HOST=127.0.0.1:1"}

// TestFirstAnswer: each built server starts with its deployment's settings and no others, before
// any webhook exists and whether or not a store can be reached. It answers, and prints nothing but
// its log.
func TestFirstAnswer(t *testing.T) {
	t.Parallel()
	for function, request := range firstRequests {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			s := start(t, build(t, function).binary, functions[function], append(environment(t, function, nil), nowhere...)...)
			if got := s.first(t, request.method, request.path, request.body); got != request.status {
				t.Errorf("it answers %d, want %d\n%s", got, request.status, s.printed())
			}
			for line := range strings.Lines(s.printed()) {
				if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "{") {
					t.Errorf("it printed what is no log line: %q", line)
				}
			}
		})
	}
}
