package serve_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/secret/secretsim"
	"github.com/opledger/opledger/test/commandtest"
)

// TestServeReach: where callers need no token, serve answers this machine and no page in a browser; with
// --webhook-listen a second port answers /webhook alone [G7].
func TestServeReach(t *testing.T) {
	t.Parallel()
	s := commandtest.Serving(t, nil, "--webhook-listen", "127.0.0.1:0")
	s.WantStatus(403, "POST", s.URL+"/register", "Origin", "https://evil.example")
	s.WantStatus(403, "POST", s.URL+"/register", "Host", "evil.example")
	s.WantStatus(403, "POST", s.URL+"/register", "X-Forwarded-For", "203.0.113.7")
	s.WantStatus(201, "POST", s.URL+"/register")
	s.WantStatus(401, "POST", s.URL+"/webhook")
	s.WantStatus(401, "POST", s.Webhook+"/webhook", "Host", "tunnel.example")
	s.WantStatus(404, "POST", s.Webhook+"/register")
	s.WantStatus(404, "GET", s.Webhook+"/health")
	if log := s.Stop(); strings.Count(log, `"a caller was refused"`) != 3 {
		t.Errorf("not every refusal is logged: %s", log)
	}
}

// TestServeToken: beyond loopback serve starts only with a token, and requires it; no log has it
// [G7].
func TestServeToken(t *testing.T) {
	t.Parallel()
	s := commandtest.Serving(t, []string{"OPLEDGER_SERVE_TOKEN=" + commandtest.ServeToken}, "--host", "0.0.0.0",
		"--allow-host",
		"ledger.example,localhost", "--allow-host", "10.0.0.1")
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://["), "]") // it says [::]:PORT
	url := "http://127.0.0.1" + port
	s.WantStatus(401, "POST", url+"/register")
	s.WantStatus(401, "POST", url+"/register", "Authorization", "Bearer "+strings.ToLower(commandtest.ServeToken))
	s.WantStatus(201, "POST", url+"/register", "Authorization", "Bearer "+commandtest.ServeToken)
	s.WantStatus(200, "POST", url+"/register", "Authorization", "Bearer "+commandtest.ServeToken, "Host", "ledger.example")
	s.WantStatus(200, "POST", url+"/register", "Authorization", "Bearer "+commandtest.ServeToken, "Host", "10.0.0.1:80")
	s.WantStatus(403, "POST", url+"/register", "Authorization", "Bearer "+commandtest.ServeToken, "Host",
		"elsewhere.example")
	s.WantStatus(403, "POST", url+"/effects", "Authorization", "Bearer "+commandtest.ServeToken)
	for _, of := range [][2]string{
		{"GET", "/operations"}, {"GET", "/operations/batches/a/results"}, {"DELETE", "/operations/batches/a"},
		{"POST", "/operations/batches/a:cancel"},
	} {
		s.WantStatus(401, of[0], url+of[1])
		s.WantStatus(403, of[0], url+of[1], "Authorization", "Bearer "+commandtest.ServeToken, "Sec-Fetch-Site", "cross-site")
	}
	s.WantStatus(200, "GET", url+"/health")
	if log := s.Stop(); strings.Contains(log, commandtest.ServeToken) {
		t.Errorf("the token is logged: %s", log)
	}
}

// TestServeUnsafe: serve refuses flags that open the ledger to callers that cannot be told apart,
// and makes no ledger [G7].
func TestServeUnsafe(t *testing.T) {
	t.Parallel()
	open := []string{"OPLEDGER_SERVE_TOKEN=none"}
	for _, c := range []struct {
		set, args []string
		want      string
	}{
		{open, []string{
			"--host", "0.0.0.0",
		}, `--host: beyond loopback, as on "0.0.0.0", callers must send a token: set OPLEDGER_SERVE_TOKEN ` +
			`(openssl rand -base64 32 makes one); for Gemini's deliveries alone --webhook-listen is enough`},
		{nil, []string{"--simulate", "--host", "0.0.0.0"}, `--host: beyond loopback, as on "0.0.0.0", callers`},
		{open, []string{"--host", ""}, `--host: beyond loopback, as on "", callers`},
		{open, []string{"--host", "::"}, `--host: beyond loopback, as on "::", callers`},
		{append(open, "OPLEDGER_PUSH_AUDIENCE=a", "OPLEDGER_PUSH_ACCOUNT=p@example.com"), []string{"--host", "0.0.0.0"},
			"--host: beyond loopback"},
		{open, []string{"--allow-host", "ledger.example"},
			"--allow-host: callers that use another name than loopback's may be anywhere and must send a token: set " +
				"OPLEDGER_SERVE_TOKEN"},
		{[]string{"OPLEDGER_SERVE_TOKEN=" + commandtest.ServeToken}, []string{"--allow-host", "*.example"},
			"--allow-host: it must be a host name alone"},
		{nil, []string{"--webhook-listen", "8081"}, "--webhook-listen: it must be HOST:PORT, such as 127.0.0.1:8081: "},
		{nil, []string{"--metrics-listen", "9464"}, "--metrics-listen: it must be HOST:PORT, or :PORT on loopback, such as "},
		{[]string{"OPLEDGER_SERVE_TOKEN=hunter2"}, []string{"--host", "0.0.0.0"},
			"OPLEDGER_SERVE_TOKEN: it must have at least 32 characters"},
		{[]string{"OPLEDGER_PUSH_AUDIENCE=a"}, nil, "OPLEDGER_PUSH_AUDIENCE: it needs OPLEDGER_PUSH_ACCOUNT"},
	} {
		f := commandtest.NewFile(t)
		s := commandtest.Run(t, append(c.set, "GEMINI_API_KEY=k", "OPLEDGER_STORE="+f.Store()),
			append([]string{"serve"}, c.args...)...).Want(t, terminal.ExitUsage)
		if got := s.Complaint(t); !strings.HasPrefix(got, c.want) || strings.Contains(s.Err, "hunter2") {
			t.Errorf("%v: %s, want %s", c.args, got, c.want)
		}
		if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: a ledger was made: %v", c.args, err)
		}
	}
}

// TestServeSaysWhatItCannotDo: an effect that cannot be performed does not stop the start. It is
// reported at once: a line for the operator and one in the log for each, without secrets.
func TestServeSaysWhatItCannotDo(t *testing.T) {
	t.Parallel()
	secrets, err := secretsim.Start(secretsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer secrets.Close()
	private := `[{name: inside, do: http, url: "http://me:hunter2@127.0.0.1:9/hunter2", on: [SUCCEEDED]}, ` +
		`{name: publish, do: http, url: "https://8.8.8.8/hunter2", on: [SUCCEEDED]}, {name: note, do: log, on: [FAILED]}]`
	unsigned := []string{
		"OPLEDGER_EFFECT_SECRET=projects/p/secrets/effects", "SECRET_MANAGER_EMULATOR_HOST=" + secrets.Addr(),
	}
	const inside = "http://127.0.0.1:9 is at 127.0.0.1: the effect may not reach private addresses; " +
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true allows it"
	for _, c := range []struct {
		set  []string
		says map[string][]string // by effect, what its line says
	}{
		{nil, map[string][]string{"inside": {inside}}},
		{[]string{"OPLEDGER_EFFECT_ALLOW_PRIVATE=true"}, nil},
		{unsigned, map[string][]string{
			"inside":  {inside, "projects/p/secrets/effects: the secret is not there"},
			"publish": {"OPLEDGER_EFFECT_SECRET: ", "projects/p/secrets/effects: the secret is not there"},
		}},
	} {
		s := commandtest.Serving(t, append(c.set, "OPLEDGER_EFFECTS="+private))
		s.WantStatus(200, "GET", s.URL+"/health")
		log := s.Stop()
		if n := strings.Count(log, "cannot be performed now"); n != 2*len(c.says) || strings.Contains(log, "hunter2") {
			t.Errorf("%v: %d lines: %s", c.set, n, log)
		}
		for name, words := range c.says {
			_, line, _ := strings.Cut(log, "\nopledger: the effect "+name+" cannot be performed now: ")
			line, _, _ = strings.Cut(line, "\n")
			for _, word := range words {
				if !strings.Contains(line, word) {
					t.Errorf("%v: of %s it says %q, not %q", c.set, name, line, word)
				}
			}
			if !strings.Contains(log, `"effect":"`+name+`","outcome":"unperformable"`) {
				t.Errorf("%v: %s is not in the log: %s", c.set, name, log)
			}
		}
	}
}

// TestServePortTaken: if the second port is in use, the error names the flag that chooses another.
func TestServePortTaken(t *testing.T) {
	t.Parallel()
	s := commandtest.Serving(t, nil)
	taken := strings.TrimPrefix(s.URL, "http://")
	got := commandtest.Run(t, []string{"GEMINI_API_KEY=k", "OPLEDGER_STORE=" + commandtest.NewFile(t).Store()}, "serve",
		"--port", "0",
		"--webhook-listen", taken).Want(t, terminal.ExitFailed)
	if complaint := got.Complaint(t); !strings.HasSuffix(complaint, "choose another with --webhook-listen") {
		t.Error(complaint)
	}
	s.Stop()
}

// TestServeWithoutItsFile: once the ledger's file was moved away nothing more is registered in it, and
// serve ends with an error. All that was registered before is in the file.
func TestServeWithoutItsFile(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	out, writes := io.Pipe()
	var stderr bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := root.Run(t.Context(), []string{"serve", "--port", "0"}, terminal.Environment{
			Variables: []string{"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1",
				"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_SERVE_TOKEN=none"},
			Out: writes, Err: &stderr,
		})
		_ = writes.Close() // a pipe's end has no error
		ended <- code
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimPrefix(strings.TrimSpace(line), "opledger serves on ")
	register := func(body string, want int) error {
		answer, err := http.Post(url+"/register", "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != want {
			t.Errorf("a registration: %s %v", answer.Status, err)
		}
		return nil
	}
	if err := register(`{"name":"batches/before"}`, http.StatusCreated); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.Path, f.Path+".moved"); err != nil {
		t.Fatal(err)
	}
	_ = register(`{"name":"batches/a"}`, http.StatusServiceUnavailable) // an error where serve has ended already
	if code := <-ended; code != terminal.ExitFailed || !strings.Contains(stderr.String(), "is not where it was opened") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	commandtest.Run(t, nil, "show", "batches/before", "--store", f.Store()+".moved").Want(t, terminal.ExitDone)
	_ = out.Close()
}

// TestServeMetrics: --metrics-listen answers /metrics and the alert rules alone, without a token and not to pages; no
// other port has them.
func TestServeMetrics(t *testing.T) {
	t.Parallel()
	s := commandtest.Serving(t, []string{"OPLEDGER_SERVE_TOKEN=" + commandtest.ServeToken}, "--metrics-listen", ":0")
	if !strings.HasPrefix(s.Metrics, "http://127.0.0.1:") {
		t.Fatalf("a port alone is not on loopback: %q", s.Lines)
	}
	s.WantStatus(401, "POST", s.URL+"/webhook")
	s.WantStatus(401, "GET", s.URL+"/metrics")
	s.WantStatus(404, "POST", s.Metrics+"/webhook")
	s.WantStatus(404, "GET", s.Metrics+"/health")
	s.WantStatus(403, "GET", s.Metrics+"/metrics", "Host", "evil.example")
	s.WantStatus(403, "GET", s.Metrics+"/metrics", "Sec-Fetch-Site", "cross-site")
	s.WantStatus(200, "GET", s.Metrics+"/alerts.yml")
	answer, err := http.Get(s.Metrics + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`opledger_deliveries_refused_total{reason="signature"} 1`, `opledger_callers_refused_total{reason="token"} 1`,
		"opledger_signal_refused_total 1", "opledger_ledger_readable 1", "opledger_sqlite_file_bytes ",
		"opledger_store_commit_duration_seconds_count ", "opledger_build_info{",
	} {
		if !bytes.Contains(page, []byte("\n"+want)) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	s.Stop()
}
