package examples

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// TestShell: the submitter with curl, which has batches alone.
func TestShell(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	harness.Program(t, "curl", "the example with curl is not run")
	s := submitter{
		dir: root + "/scripts/examples/shell", command: []string{shell, "submit.sh"}, kinds: []string{"batch"},
		unanswered: "no answer says whether it was submitted", refused: "nothing runs",
	}
	w := newWorld(t, nil)
	s.freesID(t, w)
	s.submitsOnce(t, w)
	s.neverRepeats(t)
	s.needsScheme(t)
	s.listsMistakes(t)
	for _, args := range [][]string{{"batch", "files/reviews", `a"b`}, {"batch", `files/a"b`, "night-1"}} {
		out, ok := run(t, s.dir, w.env, shell, append([]string{"submit.sh"}, args...)...)
		if ok || !strings.Contains(out, `a"b is not `) || len(w.creations()) != 0 {
			t.Errorf("%q ended with success %v and said %s", args, ok, out)
		}
	}
}

// TestShellCurlrc: what the user's curl does by default repeats no creation [G6].
func TestShellCurlrc(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	harness.Program(t, "curl", "the example with curl is not run")
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte("retry = 2\nretry-delay = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, nil)
	w.env = append(w.env, "HOME="+home, "CURL_HOME="+home)
	w.refuse(http.StatusServiceUnavailable)
	s := submitter{dir: root + "/scripts/examples/shell", command: []string{shell, "submit.sh"}}
	s.fails(t, w, "batch", 1, "no answer says whether it was submitted")
}

// TestShellLateAnswer: an answer that does not come ends, and one that comes after two minutes allows
// nothing, because another run may submit by then [G6].
func TestShellLateAnswer(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	curl := harness.Program(t, "curl", "the example with curl is not run")
	for name, c := range map[string]struct{ program, script, want string }{
		"no answer": { // its bounds are shortened
			"curl", `last=
for option; do
  case $last in --max-time) option=1 ;; --retry) option=0 ;; esac
  last=$option
  set -- "$@" "$option"
  shift
done
exec ` + curl + ` "$@"`, "nothing was submitted",
		},
		"an answer after two minutes": { // each look at the clock is 130 s after the one before
			"date", `echo x >> "$LOOKS"; echo $(($(wc -l < "$LOOKS") * 130))`, "took 130 s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, c.program), []byte("#!"+shell+"\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				_, _ = io.ReadAll(r.Body)
				if r.URL.Path != "/register" {
					t.Errorf("Gemini was asked for %s", r.URL.Path)
				}
				if c.program == "curl" {
					<-r.Context().Done() // it hangs
					return
				}
				_, _ = io.WriteString(rw, `{"verdict":"submit"}`)
			}))
			t.Cleanup(server.Close)
			env := []string{
				"PATH=" + bin + ":" + os.Getenv("PATH"), "LOOKS=" + filepath.Join(bin, "looks"), "GEMINI_API_KEY=key",
				"OPLEDGER_URL=" + server.URL, "GOOGLE_GEMINI_BASE_URL=" + server.URL,
			}
			out, ok := run(t, root+"/scripts/examples/shell", env, shell, "submit.sh", "batch", "files/reviews", "night-1")
			if ok || !strings.Contains(out, c.want) {
				t.Errorf("it ended with success %v and said %s; want %q", ok, out, c.want)
			}
		})
	}
}

// TestShellSaysWhatOpledgerSaid: an answer that refuses is printed, with what runs at Gemini.
func TestShellSaysWhatOpledgerSaid(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	harness.Program(t, "curl", "the example with curl is not run")
	w := newWorld(t, nil)
	for refused, want := range map[string][]string{
		"intent": {"nothing was submitted", "refused by the test"},
		"name":   {"batches/", " submitted\n", "runs, but is not registered", "refused by the test"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"`+refused+`":`) {
				http.Error(rw, "refused by the test", http.StatusForbidden)
				return
			}
			_, _ = io.WriteString(rw, `{"verdict":"submit"}`)
		}))
		t.Cleanup(server.Close)
		env := append(slices.Clone(w.env), "OPLEDGER_URL="+server.URL)
		out, ok := run(t, root+"/scripts/examples/shell", env, shell, "submit.sh", "batch", "files/reviews", "night-1")
		for _, text := range want {
			if ok || !strings.Contains(out, text) {
				t.Errorf("%s refused: it ended with success %v and said %s; want %q", refused, ok, out, text)
			}
		}
	}
}

// TestShellHidesSecrets: no argument of a process holds the key of Gemini or the token, no proxy gets
// what goes to this machine, and a redirect is not followed.
func TestShellHidesSecrets(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	curl := harness.Program(t, "curl", "the example with curl is not run")
	bin, seen := t.TempDir(), filepath.Join(t.TempDir(), "seen")
	script := "#!" + shell + "\nprintf '%s ' \"$@\" >> " + seen + "\nexec " + curl + " \"$@\"\n"
	if err := os.WriteFile(filepath.Join(bin, "curl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Goog-Api-Key"))
		if r.URL.Path == "/register" {
			_, _ = io.WriteString(rw, `{"verdict":"submit"}`)
			return
		}
		http.Redirect(rw, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	env := []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "OPLEDGER_URL=" + server.URL, "GOOGLE_GEMINI_BASE_URL=" + server.URL,
		"GEMINI_API_KEY=secret-key", "OPLEDGER_TOKEN=secret-token", "http_proxy=http://127.0.0.1:1", "no_proxy=x",
	}
	out, _ := run(t, root+"/scripts/examples/shell", env, shell, "submit.sh", "batch", "files/reviews", "night-1")
	arguments, err := os.ReadFile(seen)
	if err != nil || strings.Contains(string(arguments), "secret") {
		t.Errorf("curl is started with %s, %v", arguments, err)
	}
	want := []string{
		"/register Bearer secret-token", "/v1beta/models/gemini-3.5-flash:batchGenerateContent secret-key",
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(sent, want) {
		t.Errorf("sent %q, and said %s", sent, out)
	}
}
