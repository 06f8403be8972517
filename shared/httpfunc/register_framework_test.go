package httpfunc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
)

func init() {
	serveProgram = func() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		address := listener.Addr().String()
		listener.Close()
		go func() {
			for {
				if c, err := net.Dial("tcp", address); err == nil {
					c.Close()
					fmt.Println("ready " + address)
					_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends
					os.Exit(0)
				}
			}
		}()
		host, port, _ := strings.Cut(address, ":")
		fmt.Fprintln(os.Stderr, funcframework.StartHostPort(host, port))
		os.Exit(3)
	}
}

// A served program is a child process that answers.
type served struct {
	*testing.T
	url    string
	end    func() string // ends it and returns what it printed
	client *http.Client
}

func serve(t *testing.T, env ...string) *served {
	t.Helper()
	cmd := command(t, "serve", env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	s := &served{T: t, client: &http.Client{Transport: transport}}
	var printed bytes.Buffer
	s.end = func() string {
		transport.CloseIdleConnections()
		stdin.Close()
		_, err := io.Copy(&printed, stdout)
		if err := errors.Join(err, cmd.Wait()); err != nil {
			t.Errorf("the child: %v", err)
		}
		return printed.String()
	}
	one := make([]byte, 1)
	for line := ""; ; {
		if _, err := stdout.Read(one); err != nil {
			t.Fatalf("the child ended: %v after %q", err, printed.String())
		}
		printed.Write(one)
		if line += string(one); one[0] == '\n' {
			if address, ready := strings.CutPrefix(line, "ready "); ready {
				s.url = "http://" + strings.TrimSpace(address)
				return s
			}
			line = ""
		}
	}
}

func (s *served) post(path string, header http.Header, body string) (int, string) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	request.Header = header
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(text))
}

// TestServed: a function behind the real framework has its settings, and its log lines have the
// request's trace.
func TestServed(t *testing.T) {
	t.Parallel()
	s := serve(t, "FUNCTION_TARGET=Hook", "GOOGLE_CLOUD_PROJECT=p",
		"OPLEDGER_WEBHOOK_SECRET=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
	const trace = "105445aa7843bc8bf206b12000100000"
	code, text := s.post("/", http.Header{"X-Cloud-Trace-Context": {trace + "/1"}}, "")
	if code != http.StatusOK || text != "true" {
		t.Errorf("%d %s", code, text)
	}
	want := `"message":"hooked","logging.googleapis.com/trace":"projects/p/traces/` + trace + `"`
	if printed := s.end(); !strings.Contains(printed, want) {
		t.Errorf("printed %s", printed)
	}
}

// TestBuiltLater: a function is built once, at its first request. If that fails, the answer is 503,
// the reason is only in the log, and the next request builds it.
func TestBuiltLater(t *testing.T) {
	t.Parallel()
	s := serve(t, "FUNCTION_TARGET=Flaky")
	if code, text := s.post("/", nil, ""); code != http.StatusServiceUnavailable || strings.Contains(text, "store") {
		t.Errorf("%d %s", code, text)
	}
	for range 3 {
		if code, text := s.post("/", nil, ""); code != http.StatusOK || text != "2" {
			t.Errorf("%d %s, want the second build", code, text)
		}
	}
	if printed := s.end(); strings.Count(printed, "the store was not there") != 1 {
		t.Errorf("printed %s", printed)
	}
}

// TestBuiltAtStart: a function can be built when its process starts. Where that fails for a reason
// that may pass, it is built at the first request.
func TestBuiltAtStart(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ eager, want string }{{"", "1"}, {"later", "2"}} {
		s := serve(t, "FUNCTION_TARGET=Eager", "EAGER="+test.eager)
		if code, text := s.post("/", nil, ""); code != http.StatusOK || text != test.want {
			t.Errorf("%q: %d %s, want %s", test.eager, code, text, test.want)
		}
		s.end()
	}
}

// TestAllServed: where no target is set, every function is served at its name and reads its
// settings at its first request.
func TestAllServed(t *testing.T) {
	t.Parallel()
	s := serve(t, "GEMINI_API_KEY=k", "OPLEDGER_TOLERANCE=soon")
	if code, text := s.post("/Asker", nil, ""); code != http.StatusOK || text != `"k"` {
		t.Errorf("%d %s", code, text)
	}
	if code, text := s.post("/Hook", nil, ""); code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", code, text)
	}
	if printed := s.end(); !strings.Contains(printed, "OPLEDGER_TOLERANCE") {
		t.Errorf("printed %s", printed)
	}
}
