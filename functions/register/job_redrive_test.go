package register_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
)

// endedJob is a world whose job has ended with as many failed requests as are given.
func endedJob(t *testing.T, failed int) *jobWorld {
	t.Helper()
	w := newJobWorld(t)
	w.options.ReadsStorage = true
	store := func(name, content string) {
		if _, err := w.storage.Create(t.Context(), name, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	store(files.Input("jobs/nightly", aDigest), strings.Repeat("x", 1000))
	w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, ""))
	grant, err := w.ledger.Effects.Claim(t.Context(), "jobs/nightly", job.StepSplit)
	if err != nil {
		t.Fatal(err)
	}
	j, err := w.ledger.Jobs.Read(t.Context(), "jobs/nightly")
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for i := range failed {
		fmt.Fprintf(&lines, `{"key":"%d","request":{"contents":[{"parts":[{"text":"a"}]}],"model":"gemini-3.5-flash"},`+
			`"error":{},"outcome":"failed","attempts":1}`+"\n", i)
	}
	j.Phase, j.Counts.Failed, j.Output.Failed.Name = job.Ended, int64(failed), files.Output(j.Job, files.Failed)
	store(j.Output.Failed.Name, lines.String())
	if err := w.ledger.Effects.Finish(t.Context(), grant.Lease, j.Write()); err != nil {
		t.Fatal(err)
	}
	w.log.Reset()
	return w
}

// TestRedrive: a redrive is a job with the options of the one that ended, but those that are given [J14].
func TestRedrive(t *testing.T) {
	t.Parallel()
	w := endedJob(t, 3)
	const target = "/jobs/nightly:redrive"
	body := `{"by":"ann","why":"the quota was raised","maxBatches":7,"retryOn":["truncated"],"outcomes":["failed"]}`
	for _, c := range []struct {
		status  int
		outcome string
	}{{http.StatusCreated, "submitted"}, {http.StatusOK, "known"}} {
		r := w.ask(http.MethodPost, target, body)
		if r.Status != c.status || r.Key != "jobs/nightly-2" || r.Redrives != "jobs/nightly" || r.Input.Requests != 3 ||
			r.Options.MaxBatches != 7 || r.Options.MaxAttempts != 2 || r.Options.MaxFailures != "1%" ||
			r.JobKind != "reviews" || string(r.Record.Metadata) != `{"night":"1"}` {
			t.Errorf("%+v", r)
		}
		w.logged(c.outcome)
	}
	if r := w.ask(http.MethodGet, "/jobs/nightly", ""); len(r.RedrivenBy) != 1 || r.RedrivenBy[0].By != "ann" {
		t.Errorf("%+v", r)
	}
	for more, says := range map[string]string{
		`,"id":"other"`:             "are in jobs/nightly-2",
		`,"outcomes":["truncated"]`: "has no request that is truncated",
		``:                          "maxBatches, retryOn",
	} {
		r := w.ask(http.MethodPost, target, `{"by":"ann","why":"w"`+more+`}`)
		if r.Status != http.StatusConflict || !strings.Contains(r.Error.Message, says) {
			t.Errorf("%s: %+v", more, r)
		}
		w.logged("refused")
	}
}

// TestRedriveTraced: a redrive has the trace of its own request, and not that of the job.
func TestRedriveTraced(t *testing.T) {
	t.Parallel()
	w := endedJob(t, 1)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/jobs/nightly:redrive",
		strings.NewReader(`{"by":"ann","why":"w"}`))
	r.Header.Set("Traceparent", trace)
	answer := httptest.NewRecorder()
	register.New(w.options).ServeHTTP(answer, r)
	rec, err := w.ledger.Operations.Read(t.Context(), "jobs/nightly-2")
	if err != nil || answer.Code != http.StatusCreated || rec.TraceParent != trace {
		t.Errorf("%d, %v, %q", answer.Code, err, rec.TraceParent)
	}
}

// TestRedriveRefused: everything that is wrong with a redrive is said at once.
func TestRedriveRefused(t *testing.T) {
	t.Parallel()
	w := endedJob(t, 1)
	r := w.ask(http.MethodPost, "/jobs/nightly:redrive", `{"id":"a b","outcomes":["done"],"retryOn":"x","maxbatches":7}`)
	for _, says := range []string{
		"by: ", "why: ", "id: not an", "outcomes: it must be failed, refused, invalid or truncated", "retryOn: ",
		`"maxbatches"`,
	} {
		if r.Status != http.StatusBadRequest || strings.Count(r.Error.Message, says) != 1 {
			t.Errorf("%+v does not say %s once", r, says)
		}
	}
	for more, says := range map[string]string{
		`,"model":"gemini-3.5-pro"`: "a job has one model", `,"maxAttempts":99`: "maxAttempts", `,"outcomes":7`: "outcomes",
	} {
		r := w.ask(http.MethodPost, "/jobs/nightly:redrive", `{"by":"ann","why":"w"`+more+`}`)
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Error.Message, says) {
			t.Errorf("%s: %+v", more, r)
		}
	}
	r = w.ask(http.MethodPost, "/jobs/nightly:redrive", `7`)
	if r.Status != http.StatusBadRequest {
		t.Errorf("%+v", r)
	}
	if r := w.ask(http.MethodPost, "/jobs/none:redrive", `{"by":"ann","why":"w"}`); r.Status != http.StatusNotFound {
		t.Errorf("%+v", r)
	}
	w.options.ReadsStorage = false
	r = w.ask(http.MethodPost, "/jobs/nightly:redrive", `{"by":"ann","why":"w"}`)
	if r.Status != http.StatusNotImplemented || !strings.Contains(r.Error.Message, "opledger redrive") {
		t.Errorf("deployed: %+v", r)
	}
}
