package console

import (
	"net/http"
	"strings"
	"testing"
)

// TestSearch: any form of a name, a bare id and a correlation id lead to the operation or the intent.
func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.register("interactions/done", "", "")
	for text, want := range map[string]string{
		"batches/dead": "/console/operation?key=batches%2Fdead", "dead": "/console/operation?key=dead",
		"https://generativelanguage.googleapis.com/v1beta/batches/dead": "/console/operation?key=batches%2Fdead",
		"night-1": "/console/operation?key=batches%2Fdone", "night-2": "/console/intent?key=night-2",
		"": "/console/operations",
	} {
		answer := w.get(link("/console/search", "q", text))
		if got := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %d, to %s, want %s", text, answer.Code, got, want)
		}
	}
	if body := w.get("/console/operation?key=dead").Body.String(); !strings.Contains(body, "<code>batches/dead</code>") {
		t.Errorf("a bare id: %s", body)
	}
	if body := w.get("/console/operation?key=done").Body.String(); !strings.Contains(body, "interactions%2Fdone") ||
		!strings.Contains(body, "batches%2Fdone") {
		t.Errorf("an id of two collections: %s", body)
	}
}
