package webhook_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestFloodIsCounted: of the refusals of one reason 20 are logged in a minute, and the others are
// counted in one line with the first request after it, whatever becomes of that. Another reason has
// lines of its own.
func TestFloodIsCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/abc")
	refuse := func(at time.Time) {
		body := event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z")
		w.request(http.MethodPost, signed(other, "a", at, []byte(body)), strings.NewReader(body))
	}
	stale := func() {
		body := event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z")
		w.request(http.MethodPost, signed(secret, "b", w.clock.Now().Add(-time.Hour), []byte(body)), strings.NewReader(body))
	}
	for range 50 {
		refuse(w.clock.Now())
	}
	stale()
	want := func(when string, refusals map[string]int) {
		t.Helper()
		got := map[string]int{}
		for _, line := range w.logged() {
			switch line["event"] {
			case "auth":
				got[line["reason"].(string)]++
			case "refusals":
				got["more for "+line["reason"].(string)] += int(line["refused"].(float64))
			}
		}
		if !maps.Equal(got, refusals) {
			t.Errorf("%s: %v, want %v", when, got, refusals)
		}
	}
	want("in the minute", map[string]int{"signature": 20, "stale-timestamp": 1})
	w.clock.Advance(time.Minute)
	w.deliver("c", event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z"))
	want("after it", map[string]int{"more for signature": 30})
	refuse(w.clock.Now())
	want("later", map[string]int{"signature": 1})
}
