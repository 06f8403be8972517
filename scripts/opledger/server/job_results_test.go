package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

const nightly operation.Key = "jobs/nightly"

// collected makes a job of two parts, the first of which is collected, and returns it with its lease.
func (w *jobsWorld) collected() (ledger.StoredJob, ledger.Lease) {
	w.Helper()
	text, _, target := inputOf("a", "b")
	w.wants("the job", w.submit(w.ask(http.MethodPut, target, strings.NewReader(text)).Input), http.StatusCreated, "")
	jobs := w.server.Ledger.Jobs
	grant, err := w.server.Ledger.Effects.Claim(w.Context(), nightly, job.StepSplit)
	w.must(err)
	j, err := jobs.Read(w.Context(), nightly)
	w.must(err)
	half := int64(len(text) / 2)
	j, err = jobs.Cut(w.Context(), grant.Lease, j, []job.Source{
		{Object: j.Input.Object, Length: half, Requests: 1},
		{Object: j.Input.Object, Offset: half, Length: half, Requests: 1},
	}, true)
	w.must(err)
	part, _, err := jobs.Part(w.Context(), operation.PartKey(nightly, 1))
	w.must(err)
	part.State = job.Collected
	part.Final = []job.Object{w.create("nightly/final.jsonl", "final\n")}
	part.Failed = []job.Object{w.create("nightly/failed.jsonl", "failed\n")}
	_, err = jobs.Save(w.Context(), grant.Lease, part)
	w.must(err)
	return j, grant.Lease
}

func (w *jobsWorld) create(name, text string) job.Object {
	w.Helper()
	made, err := w.server.jobs.Create(w.Context(), name, strings.NewReader(text))
	w.must(err)
	return job.Object{Name: made.Name, Size: made.Size, CRC32C: made.CRC32C}
}

func (w *jobsWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// TestResults: before a job has ended its results are those that are final so far; then they are all.
func TestResults(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	const target = "/operations/jobs/nightly/results"
	w.wants("no job", w.ask(http.MethodGet, target, nil), http.StatusNotFound, "no such job")
	w.wants("no jobs", w.ask(http.MethodGet, target+"?merged=true", nil), http.StatusNotFound, "no such job")
	j, lease := w.collected()
	wants := func(complete string, want map[string]string) {
		t.Helper()
		for query, text := range want {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				if method == http.MethodHead {
					text = ""
				}
				r := w.ask(method, target+query, nil)
				if r.Code != http.StatusOK || r.Body.String() != text || r.Header().Get("Opledger-Complete") != complete ||
					r.Header().Get("Content-Type") != "application/x-ndjson" {
					t.Errorf("%s %s: %d %v %s, want %q", method, query, r.Code, r.Header(), r.Body, text)
				}
			}
		}
	}
	wants("false", map[string]string{"": "final\n", "?kind=failed": "failed\n", "?kind=unmatched": "",
		"?merged=true": "final\n"})
	j.Phase = job.Ended
	j.Output.Results = w.create(files.Output(j.Job, files.Results), "all\n")
	w.must(w.server.Ledger.Effects.Finish(t.Context(), lease, j.Write()))
	wants("true", map[string]string{"": "all\n", "?kind=results": "all\n", "?kind=failed": "",
		"?merged=true&kind=results": "all\n"})
	w.must(w.server.jobs.Delete(t.Context(), j.Output.Results.Name))
	w.wants("results that are gone", w.ask(http.MethodGet, target, nil), http.StatusServiceUnavailable, "were moved")
	w.wants("a bad kind", w.ask(http.MethodGet, target+"?kind=done", nil), http.StatusBadRequest, "results, failed or")
	w.wants("a bad parameter", w.ask(http.MethodGet, target+"?type=x", nil), http.StatusBadRequest, "the only ones are")
	for _, query := range []string{"?merged=1", "?merged=true&kind=failed"} {
		w.wants(query, w.ask(http.MethodGet, target+query, nil), http.StatusBadRequest, "merged: it ")
	}
	w.wants("a bad id", w.ask(http.MethodGet, "/operations/jobs/_x/results", nil), http.StatusBadRequest, "a job's id is")
	w.wants("another method", w.ask(http.MethodPost, target, nil), http.StatusMethodNotAllowed, "")
	var err error
	w.server.jobs, err = storage.Open(t.TempDir(), "")
	w.must(err)
	w.wants("another storage", w.ask(http.MethodGet, target, nil), http.StatusServiceUnavailable, "another job storage")
}

// A gone is a reader of an answer that disconnects in the middle.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("the reader has disconnected") }

// TestResultsBrokenOff: where results cannot be sent to their end, the connection is cut off: its reader sees
// that some are missing.
func TestResultsBrokenOff(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	w.collected()
	w.log.Drain(t)
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler {
			t.Errorf("ended with %v", cause)
		}
		if lines := w.log.Drain(t); len(lines) != 1 || lines[0]["event"] != "job" || lines[0]["outcome"] != "error" {
			t.Errorf("%v", lines)
		}
	}()
	w.server.inside.ServeHTTP(gone{httptest.NewRecorder()},
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/operations/jobs/nightly/results", nil))
}

// TestJobRoutes: what jobs add is for callers with the token, and none of it is on the port for deliveries [G7].
func TestJobRoutes(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{}, "OPLEDGER_SERVE_TOKEN="+serveToken, "OPLEDGER_JOB_STORAGE="+t.TempDir())
	token := []string{"Authorization", "Bearer " + serveToken}
	_, digest, _ := inputOf("a")
	routes := []struct {
		method, path string
		status       int
	}{
		{"POST", "/jobs/nightly", 400}, {"GET", "/jobs/nightly", 404}, {"POST", "/jobs/nightly:cancel", 400},
		{"HEAD", "/jobs/nightly/input/" + digest, 200}, {"PUT", "/jobs/_/input/" + digest, 400},
		{"GET", "/operations/jobs/nightly", 404}, {"GET", "/operations/jobs/nightly/results", 404},
	}
	for _, r := range routes {
		e.call(call{method: r.method, path: r.path, body: "{}", status: 401, reason: "token"})
		e.call(call{method: r.method, path: r.path, body: "{}", header: token, status: r.status})
	}
	e.url = e.webhooks
	for _, r := range routes {
		e.call(call{method: r.method, path: r.path, body: "{}", header: token, status: 404})
	}
}
