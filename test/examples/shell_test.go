package examples

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
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
	s.submitsOnce(t, newWorld(t, nil))
	s.neverRepeats(t)
	for _, args := range [][]string{{"batch", "files/reviews", `a"b`}, {"batch", `files/a"b`, "night-1"}} {
		w := newWorld(t, nil)
		out, ok := run(t, s.dir, w.env, shell, append([]string{"submit.sh"}, args...)...)
		if ok || !strings.Contains(out, `a"b is not `) || len(w.creations()) != 0 {
			t.Errorf("%q ended with success %v and said %s", args, ok, out)
		}
	}
}

// TestShellSaysWhatOpledgerSaid: an answer that refuses is printed, with what runs at Gemini.
func TestShellSaysWhatOpledgerSaid(t *testing.T) {
	t.Parallel()
	shell := harness.Program(t, "sh", "the example with curl is not run")
	harness.Program(t, "curl", "the example with curl is not run")
	for refused, want := range map[string][]string{
		"intent": {"nothing was submitted", "refused by the test"},
		"name":   {"batches/", " submitted\n", "runs, but is not registered", "refused by the test"},
	} {
		w := newWorld(t, nil)
		server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), `"`+refused+`":`) {
				http.Error(rw, "refused by the test", http.StatusForbidden)
				return
			}
			rw.WriteHeader(http.StatusCreated)
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
