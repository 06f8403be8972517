package canary

import (
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/canary/googlesim"
)

// TestPushUnseen: where Effects logs nothing for a minute, the step fails, and says whether requests
// reached Effects at all. A stranger's request does not count.
func TestPushUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	began := w.clock()
	w.google.Log(googlesim.Request{Service: "x-effects", UserAgent: "curl", Status: http.StatusForbidden})
	made := w.fails(w.push)
	if !strings.Contains(made.Error, "x-effects has not logged within 1m0s that it skipped it; no request reached it") ||
		!strings.Contains(made.LookAt, "gcloud functions logs read x-effects --gen2 --region=r --project=p") {
		t.Errorf("%+v", made)
	}
	if took := w.clock().Sub(began); took < oneMinute-maxPause || took > oneMinute {
		t.Errorf("it looked for %v", took)
	}
	const agent = "CloudPubSub-Google"
	w.google.Log(googlesim.Request{Service: "x-effects", UserAgent: agent, Status: http.StatusServiceUnavailable})
	w.google.Log(googlesim.Request{Service: "x-reconcile", UserAgent: agent, Status: http.StatusTeapot})
	w.unseenSays("; it answered the last request 503")
}

// TestLogNotReadable: an answer that Cloud Logging is busy is waited out; one that the log may not
// be read names the role.
func TestLogNotReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	busy := 3
	w.refuse = func(rw http.ResponseWriter, r *http.Request) {
		if busy--; busy > 0 {
			http.Error(rw, "busy", http.StatusTooManyRequests)
			return
		}
		http.Error(rw, "no", http.StatusForbidden)
	}
	made := w.fails(w.push)
	if busy != 0 || made.LookAt != "roles/logging.viewer on the project" {
		t.Errorf("%d, %+v", busy, made)
	}
}
