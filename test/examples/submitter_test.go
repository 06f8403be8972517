package examples

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A submitter is how an example is started, before its two arguments.
type submitter struct {
	dir     string
	command []string
	kinds   []string // empty: every kind of job
	// ends: it waits for the end of what it submitted.
	ends bool
	// What it says of a creation that was answered 503, and of one that was answered 400.
	unanswered, refused string
}

func (s submitter) allKinds() []string {
	if len(s.kinds) > 0 {
		return s.kinds
	}
	return []string{"batch", "video", "interaction"}
}

// run starts the example in a world. The job's id is its kind.
func (s submitter) run(t *testing.T, w *world, kind string) (string, bool) {
	t.Helper()
	args := append(slices.Clone(s.command[1:]), kind, "files/reviews", kind)
	return run(t, s.dir, append(slices.Clone(w.env), "PATIENCE=0"), s.command[0], args...)
}

// submitsOnce: started twice, the example submits one job, which carries its correlation id and is
// registered [G6, K6, L2].
func (s submitter) submitsOnce(t *testing.T, w *world) {
	t.Helper()
	for _, kind := range s.allKinds() {
		first, ok := s.run(t, w, kind)
		name, _, submitted := strings.Cut(first, " submitted\n")
		if !ok || !submitted || s.ends && !strings.Contains(first, " SUCCEEDED\n") {
			t.Fatalf("%s: %s", kind, first)
		}
		name = name[strings.LastIndexByte(name, '\n')+1:]
		again, ok := s.run(t, w, kind)
		if !ok || !strings.Contains(again, "was submitted before") {
			t.Fatalf("%s, started again: %s", kind, again)
		}
		bodies := w.creations()
		if len(bodies) != 1 || !strings.Contains(bodies[0], `"opledger_correlation_id"`) {
			t.Errorf("%s: Gemini got %d creations, want one with the correlation id: %q", kind, len(bodies), bodies)
		}
		if kind == "batch" && !strings.Contains(strings.Join(bodies, ""), "reviews opledger:batch") {
			t.Errorf("the display name is not marked: %q", bodies)
		}
		record := w.record(t, name)
		if !strings.Contains(record, `"registered":true`) || !strings.Contains(record, `"jobKind":"example-`) ||
			!strings.Contains(record, `"correlationId":`) {
			t.Errorf("%s is recorded as %s", name, record)
		}
	}
}

// neverRepeats: a creation that Gemini refuses, or does not answer, is sent once. The example says
// which it was. What was refused can be submitted again, and what may run cannot [G6].
func (s submitter) neverRepeats(t *testing.T) {
	t.Helper()
	w := newWorld(t, nil)
	for _, kind := range s.allKinds() {
		w.refuse(http.StatusBadRequest)
		s.fails(t, w, kind, 1, s.refused)
		w.refuse(http.StatusServiceUnavailable)
		s.fails(t, w, kind, 1, s.unanswered)
		s.fails(t, w, kind, 0, "an earlier run may have submitted it")
	}
}

// uploads: requests on this machine are uploaded in pieces and submitted as a file; one without a key
// is refused before anything is sent. Where Gemini refuses the upload, its reason is said. What was
// submitted before is not uploaded again [G6].
func (s submitter) uploads(t *testing.T, w *world) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	line := `{"key":"review-%d","request":{"contents":[{"parts":[{"text":"` + strings.Repeat("x", 5<<20) + `"}]}]}}` + "\n"
	submit := func(text string) (string, bool) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(slices.Clone(s.command[1:]), "batch", path, "of-requests")
		return run(t, s.dir, w.env, s.command[0], args...)
	}
	out, ok := submit(`{"request":{"contents":[{}]}}`)
	if bodies := w.creations(); ok || !strings.Contains(out, "key") || len(bodies) != 0 {
		t.Errorf("requests without keys ended with success %v, %d requests, and said %s", ok, len(bodies), out)
	}
	w.refuse(http.StatusBadRequest)
	if out, ok = submit(fmt.Sprintf(line, 1)); ok || !strings.Contains(out, "the door says so") {
		t.Errorf("an upload that Gemini refuses ended with success %v and said %s", ok, out)
	}
	w.refuse(0)
	w.creations()
	out, ok = submit(fmt.Sprintf(line, 1) + fmt.Sprintf(line, 2))
	bodies := w.creations()
	if len(bodies) == 0 {
		t.Fatal(out)
	}
	last := bodies[len(bodies)-1]
	if !ok || !strings.Contains(last, `"files/`) || strings.Contains(last, "review-1") ||
		strings.Count(strings.Join(bodies, ""), `"key":"review-`) != 2 {
		t.Errorf("requests ended with success %v, said %s, and the batch was created with %.300s", ok, out, last)
	}
	again, ok := submit(fmt.Sprintf(line, 1) + fmt.Sprintf(line, 2))
	if bodies := w.creations(); !ok || !strings.Contains(again, "was submitted before") || len(bodies) != 0 {
		t.Errorf("started again it ended with success %v, sent Gemini %d requests, and said %s", ok, len(bodies), again)
	}
}

// keepsKey: a redirect does not carry Gemini's key to another host.
func (s submitter) keepsKey(t *testing.T) {
	t.Helper()
	w := newWorld(t, nil)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s with the key %q came to another host", r.Method, r.URL, r.Header.Get("X-Goog-Api-Key"))
		rw.WriteHeader(http.StatusTeapot)
	}))
	defer elsewhere.Close()
	w.redirect(elsewhere.URL + "/elsewhere")
	for _, kind := range s.allKinds() {
		s.fails(t, w, kind, 1, s.unanswered)
	}
	if !s.ends {
		return // it uploads nothing
	}
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	if err := os.WriteFile(path, []byte(`{"key":"a","request":{"contents":[{}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(s.command[1:]), "batch", path, "of-requests")
	if out, ok := run(t, s.dir, w.env, s.command[0], args...); ok || len(w.creations()) != 1 {
		t.Errorf("an upload that is redirected ended with success %v and said %s", ok, out)
	}
}

// freesID: where Gemini's address is none, or refuses the connection, nothing was sent. The same id
// submits at once when the address is right: submitsOnce follows.
func (s submitter) freesID(t *testing.T, w *world) {
	t.Helper()
	right := w.env
	for address, want := range map[string]string{
		"gemini.example:80": "GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:2": s.refused,
	} {
		w.env = append(slices.Clone(right), "GOOGLE_GEMINI_BASE_URL="+address)
		for _, kind := range s.allKinds() {
			if out, ok := s.run(t, w, kind); ok || !strings.Contains(out, want) {
				t.Errorf("%s, %s ended with success %v and said %s; want %q", kind, address, ok, out, want)
			}
		}
	}
	w.env = right
}

// listsMistakes: what is wrong with the arguments and the variables is said together, before anything is
// sent.
func (s submitter) listsMistakes(t *testing.T) {
	t.Helper()
	env := []string{"OPLEDGER_URL=127.0.0.1:8080", "GEMINI_API_KEY=key", "PATIENCE=long"}
	args := append(slices.Clone(s.command[1:]), "batch", "no such/file", "two words")
	out, ok := run(t, s.dir, env, s.command[0], args...)
	for _, want := range []string{"begin it with http://", "no such", "two words"} {
		if ok || !strings.Contains(out, want) {
			t.Errorf("it ended with success %v and said %s; want %q", ok, out, want)
		}
	}
	if s.ends && !strings.Contains(out, "PATIENCE is ") {
		t.Errorf("it does not say that PATIENCE is wrong: %s", out)
	}
}

// needsScheme: an address of opledger without a scheme ends at once, with what to do.
func (s submitter) needsScheme(t *testing.T) {
	t.Helper()
	env := []string{"OPLEDGER_URL=127.0.0.1:8080", "GEMINI_API_KEY=key"}
	out, ok := run(t, s.dir, env, s.command[0], append(slices.Clone(s.command[1:]), "batch", "files/x", "night-1")...)
	if ok || !strings.Contains(out, "begin it with http://") || strings.Count(out, "\n") > 1 {
		t.Errorf("it ended with success %v and said %s", ok, out)
	}
}

func (s submitter) fails(t *testing.T, w *world, kind string, creations int, want string) {
	t.Helper()
	out, ok := s.run(t, w, kind)
	if ok || !strings.Contains(out, want) {
		t.Errorf("%s ended with success %v and said %s; want %q", kind, ok, out, want)
	}
	if bodies := w.creations(); len(bodies) != creations {
		t.Errorf("%s: Gemini got %d creations, want %d: %q", kind, len(bodies), creations, bodies)
	}
}

// record returns what opledger answers about an operation.
func (w *world) record(t *testing.T, name string) string {
	t.Helper()
	response, err := http.Get(w.exported("OPLEDGER_URL") + "/operations/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
