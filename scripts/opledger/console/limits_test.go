package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestStreamsAreBounded: a console has at most 64 streams. One more is told to come later, and may
// when another has left.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := httptest.NewServer(w.console)
	defer server.Close()
	address := server.URL + "/console/intents?live=1"
	_, leave := stream(t, address)
	for range 63 {
		_, leaveLater := stream(t, address)
		defer leaveLater()
	}
	status := func() int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if later := answer.Header.Get("Retry-After"); (later == "") != (answer.StatusCode == http.StatusOK) {
			t.Errorf("%d, to be tried again after %q", answer.StatusCode, later)
		}
		return answer.StatusCode
	}
	if got := status(); got != http.StatusServiceUnavailable {
		t.Errorf("one more than 64: %d", got)
	}
	leave()
	w.until(func() bool { return status() == http.StatusOK })
}

// TestStaticFiles: a file of the pages is served, and no list of them.
func TestStaticFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, want := range map[string]int{
		"/console/static/console.css": 200, "/console/static/": 404, "/console/static": 404,
		"/console/static/none.css": 404,
	} {
		if got := w.get(path); got.Code != want || strings.Contains(got.Body.String(), `href="htmx`) {
			t.Errorf("%s: %d, want %d: %.100s", path, got.Code, want, got.Body)
		}
	}
}

// TestLongAnswers: who decides and why are bounded by the server, not by the form alone.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	w := acting(t)
	for field, most := range map[string]int{"by": 200, "why": 400} {
		for _, letter := range []string{"x", "é"} {
			form := w.question(askPath + "?do=abandon&key=batches%2Fmissing")
			form.Set("by", "ada")
			form.Set("why", "submitted twice")
			form.Set(field, strings.Repeat(letter, most+1))
			if got := w.post(form); got.Code != http.StatusBadRequest ||
				!strings.Contains(got.Body.String(), "Nothing was done.") {
				t.Errorf("%s of %d %q: %d", field, most+1, letter, got.Code)
			}
		}
		page := w.get(askPath + "?do=abandon&key=batches%2Fmissing").Body.String()
		if _, after, _ := strings.Cut(page, `name="`+field+`"`); !strings.Contains(strings.SplitN(after, ">", 2)[0],
			`maxlength="`+map[string]string{"by": "200", "why": "400"}[field]+`"`) {
			t.Errorf("the form of %s has another bound: %s", field, page)
		}
	}
	form := w.question(askPath + "?do=abandon&key=batches%2Fmissing")
	form.Set("by", strings.Repeat("é", 200))
	form.Set("why", strings.Repeat("é", 400))
	if got := w.post(form); got.Code != http.StatusOK {
		t.Errorf("as long as they may be: %d %s", got.Code, got.Body)
	}
}
