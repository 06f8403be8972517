package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A deadlines remembers the deadlines of a connection.
type deadlines struct {
	*httptest.ResponseRecorder
	set     []time.Time // of reads
	written []time.Time // of writes
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	d.written = append(d.written, at)
	return nil
}

// TestLongRequests: what has no body outlives the minute in which a request must arrive: results that are read
// for hours, and an input that is stored for minutes. The last bytes of results have a deadline, too [G7].
func TestLongRequests(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	w.collected()
	text, _, target := inputOf("c", "d")
	ask := func(method, target string, header ...string) *deadlines {
		t.Helper()
		r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		w.server.inside.ServeHTTP(d, r)
		if d.Code != http.StatusOK || len(d.set) != 1 || !d.set[0].IsZero() {
			t.Errorf("%s %s: %d %s, read until %v", method, target, d.Code, d.Body, d.set)
		}
		return d
	}
	d := ask(http.MethodGet, "/operations/jobs/nightly/results")
	if n := len(d.written); n != 2 || d.written[n-1].Before(d.written[0]) || d.Header().Get("Connection") != "close" {
		t.Errorf("written until %v; %v", d.written, d.Header())
	}
	w.wants("the input", w.ask(http.MethodPut, target, strings.NewReader(text)), http.StatusOK, "")
	ask(http.MethodPut, target, "Content-Range", fmt.Sprintf("bytes */%d", len(text)))
}
