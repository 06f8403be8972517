package register_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
)

// TestReadIntent: what is known of a correlation id is answered with one read, and changes nothing: a
// submitter asks before it uploads [G6].
func TestReadIntent(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	for _, id := range []string{"night-1", "nightly/2026-11-21", "100% ü?#..", "a//b"} {
		target := "/intents/" + url.PathEscape(id)
		quoted := strings.ReplaceAll(id, `"`, `\"`)
		w.post(`{"intent":true,"correlationId":"` + quoted + `","jobKind":"review","collection":"batches"}`)
		w.counting.Reset()
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if r := w.get(method, target); r.Status != http.StatusOK || r.Intent.CorrelationID != id ||
				r.Intent.State != ledger.IntentOpen || r.Intent.JobKind != "review" || r.Intent.Operation != "" {
				t.Errorf("%s %s: %d %+v %+v", method, target, r.Status, r.Intent, r.Error)
			}
		}
		if got, want := w.counting.Counts(), (ledgertest.Counts{Gets: 2, Read: 2}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	w.post(`{"name":"batches/abc","correlationId":"night-1"}`)
	if r := w.get(http.MethodGet, "/intents/night-1"); r.Status != http.StatusOK ||
		r.Intent.State != ledger.IntentBound || r.Intent.Operation != "batches/abc" {
		t.Errorf("after the registration: %d %+v", r.Status, r.Intent)
	}
}

// TestReadIntentRefused: what is wrong is answered in the form of every error, and reads nothing.
func TestReadIntentRefused(t *testing.T) {
	t.Parallel()
	w := newWaiting(t)
	w.counting.Reset()
	w.refuses([]refusedRead{
		{http.MethodGet, "/intents/none", http.StatusNotFound, "no such intent"},
		{http.MethodGet, "/intents/", http.StatusBadRequest, "correlationId: it is empty"},
		{http.MethodGet, "/intents/" + strings.Repeat("x", 257), http.StatusBadRequest, "257 bytes"},
		{http.MethodGet, "/intents/a%FF", http.StatusBadRequest, "UTF-8"},
		{http.MethodGet, "/intents/night-1?wait=5s", http.StatusBadRequest, "wait"},
		{http.MethodPost, "/intents/night-1", http.StatusMethodNotAllowed, "only GET"},
	})
	if got := w.counting.Counts(); got.Gets != 1 {
		t.Errorf("%+v", got)
	}
}
