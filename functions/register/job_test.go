package register_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/functions/register"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/storage"
)

// A jobWorld is the function with job storage in a folder.
type jobWorld struct {
	*world
	storage storage.Storage
	options register.Options
}

func newJobWorld(t *testing.T) *jobWorld {
	t.Helper()
	w := &jobWorld{world: newWorld(t)}
	var err error
	if w.storage, err = storage.Open(t.TempDir(), ""); err != nil {
		t.Fatal(err)
	}
	w.options = register.Options{Ledger: w.ledger, Now: w.clock.Now, Log: logging.New(w.log, "p"), Storage: w.storage}
	return w
}

// A jobReply is the answer to a request about a job.
type jobReply struct {
	Status int `json:"-"`
	progress.Progress
	Record operation.Report
	Error  struct {
		Message  string
		Problems []string
	}
}

func (w *jobWorld) ask(method, target, body string) jobReply {
	w.Helper()
	answer := httptest.NewRecorder()
	register.New(w.options).ServeHTTP(answer,
		httptest.NewRequestWithContext(w.Context(), method, target, strings.NewReader(body)))
	r := jobReply{Status: answer.Code}
	if err := json.Unmarshal(answer.Body.Bytes(), &r); err != nil {
		w.Fatalf("%s %s: %s: %v", method, target, answer.Body, err)
	}
	return r
}

// logged checks that one line of the log since the last call has this outcome of a job.
func (w *jobWorld) logged(outcome string) {
	w.Helper()
	if text := w.log.String(); !strings.Contains(text, `"event":"job"`) ||
		!strings.Contains(text, `"outcome":"`+outcome+`"`) {
		w.Errorf("logged %s, want %s", text, outcome)
	}
	w.log.Reset()
}

const (
	aDigest = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	bDigest = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func jobBody(digest, more string) string {
	return `{"model":"gemini-3.5-flash","jobKind":"reviews","metadata":{"night":"1"},"maxAttempts":2,"maxFailures":"1%"` +
		more + `,"input":{"sha256":"` + digest + `","bytes":1000,"requests":10,"tokens":77}}`
}

// TestJob: the same job again is known, and another one with its id is refused, with what differs [J1].
func TestJob(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	r := w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, ""))
	w.logged("submitted")
	want := job.Input{
		SHA256: aDigest, Bytes: 1000, Requests: 10, Tokens: 77, Object: files.Input("jobs/nightly", aDigest),
	}
	if r.Status != http.StatusCreated || r.Key != "jobs/nightly" || r.State != operation.Pending ||
		r.Phase != job.Splitting || r.Input != want || r.Options.MaxAttempts != 2 || r.Options.MaxFailures != "1%" ||
		r.Storage != w.storage.String() || r.JobKind != "reviews" || r.Open != 10 {
		t.Errorf("%+v", r)
	}
	if r.Record.Key != "jobs/nightly" || string(r.Record.Metadata) != `{"night":"1"}` {
		t.Errorf("its record: %+v", r.Record)
	}
	if r := w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, "")); r.Status != http.StatusOK ||
		r.Key != "jobs/nightly" || r.Record.Key != "jobs/nightly" {
		t.Errorf("again: %+v", r)
	}
	w.logged("known")
	for body, says := range map[string]string{
		jobBody(bDigest, ""):                         aDigest + ", this one " + bDigest,
		jobBody(aDigest, `,"maxBatches":7`):          "maxBatches",
		jobBody(aDigest, `,"retryOn":["truncated"]`): "retryOn",
	} {
		if r := w.ask(http.MethodPost, "/jobs/nightly", body); r.Status != http.StatusConflict ||
			!strings.Contains(r.Error.Message, says) {
			t.Errorf("%s: %+v", body, r)
		}
		w.logged("refused")
	}
	if r := w.ask(http.MethodGet, "/jobs/nightly", ""); r.Status != http.StatusOK || r.Phase != job.Splitting {
		t.Errorf("read: %+v", r)
	}
	if r := w.ask(http.MethodGet, "/operations/jobs/nightly", ""); r.Status != http.StatusOK {
		t.Errorf("its record: %+v", r)
	}
}

// TestJobRefused: everything that is wrong with a job is said at once, and nothing is created.
func TestJobRefused(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	r := w.ask(http.MethodPost, "/jobs/_night?soon=1", `{"modell":"x","maxAttempts":"three","maxBatches":101,
		"validate":"xml","correlationId":"c","maxFailures":5,"retryOn":"invalid",
		"input":{"sha256":"A","bytes":100,"requests":5,"tokens":-1,"size":3,"object":7}}`)
	if r.Status != http.StatusBadRequest {
		t.Errorf("%+v", r)
	}
	got := strings.Join(r.Error.Problems, "\n")
	for _, says := range []string{
		"id: ", `"soon": there is no such parameter`, `"modell": there is no such field; did you mean model?`,
		"maxAttempts: it must be a whole number", "maxBatches: it must be from 1 to 100", "validate: ", "model: ",
		"correlationId: a job has none", `maxFailures: it must be a text such as "5" or "1%"`,
		`retryOn: it must be a list of "invalid"`, "input.sha256: ", "input.requests: ", "input.tokens: ",
		`input."size": there is no such field`, "input.object: it must be a text",
	} {
		if strings.Count(got, says) != 1 {
			t.Errorf("%s\nsays %q %d times", got, says, strings.Count(got, says))
		}
	}
	if len(r.Error.Problems) != 15 {
		t.Errorf("%d problems:\n%s", len(r.Error.Problems), got)
	}
	for _, c := range []struct{ target, body, says string }{
		{"/jobs/night", "[]", `a job is {"model"`},
		{"/jobs/night", `{"model":"m"}`, "input: it must be"},
		{"/jobs/night", `{"model":"m","input":null}`, "input.sha256"},
		{"/jobs/night", `{"model":"m","input":{"sha256":"` + aDigest + `","bytes":0,"requests":1}}`, "input.bytes"},
		{"/jobs/night", `{"model":"m","input":{"sha256":"` + aDigest + `","bytes":99,"requests":1,"object":"x"}}`,
			w.storage.String() + "/night/" + aDigest + "/input.jsonl"},
		{"/jobs/night", jobBody(aDigest, `,"retryOn":["`+strings.Repeat("x", 99)+`"]`), "retryOn: it must be a list"},
		{"/jobs/a/b", jobBody(aDigest, ""), "a job's id is"},
		{"/jobs/night:cancel", `{"why":7}`, "by: it is missing"},
		{"/jobs/night:cancel", `{"by":"ann"}`, "why: it is missing"},
		{"/jobs/night:cancel", `7`, `{"by":"ann"`},
		{"/jobs/:cancel", `{"by":"ann","why":"w"}`, "a job's id is"},
		{"/jobs/night:pause", `{"by":"ann"}`, "why: it is missing"},
		{"/jobs/night:resume", `{"why":"w"}`, "by: it is missing"},
		{"/jobs/night:redo", `{"by":"ann","why":"w"}`, "a job's id is"},
	} {
		if r := w.ask(http.MethodPost, c.target, c.body); r.Status != http.StatusBadRequest ||
			!strings.Contains(r.Error.Message, c.says) {
			t.Errorf("%s %s: %+v, want %s", c.target, c.body, r, c.says)
		}
	}
	for _, target := range []string{"/jobs/night", "/jobs/night:cancel"} {
		if r := w.ask(http.MethodDelete, target, ""); r.Status != http.StatusMethodNotAllowed {
			t.Errorf("DELETE %s: %+v", target, r)
		}
	}
	for body, says := range map[string]string{
		`{"maxBatches":0,"by":"ann","why":"w"}`:                    "maxBatches: it must be from 1 to 100, not 0",
		`{"maxBatches":"5","maxAttempts":3,"by":"ann"}`:            "maxBatches: it must be a whole number",
		`{"stopAfter":5,"by":"ann","why":"w"}`:                     `stopAfter: it must be a text such as "5" or "1%"`,
		`{"by":"ann","why":"w"}`:                                   "limits: there is none to change",
		`{"deadline":"soon","by":"ann","why":"w"}`:                 "deadline: it must be a time such as 07:00",
		`{"deadline":"2006-01-02T15:04:05Z","by":"ann","why":"w"}`: "deadline: it must be in the future",
		`{"deadline":7,"by":"ann","why":"w"}`:                      "deadline: it must be a text",
		`{"priority":101,"by":"ann","why":"w"}`:                    "priority: it must be from -100 to 100, not 101",
		`{"priority":"high","by":"ann","why":"w"}`:                 "priority: it must be a whole number",
		`{"maxBatches":5}`:                                         "by: it is missing; say who decides that; why: ",
		`[]`:                                                       `write {"maxBatches":5`,
	} {
		if r := w.ask(http.MethodPatch, "/jobs/night", body); r.Status != http.StatusBadRequest ||
			!strings.Contains(r.Error.Message, says) {
			t.Errorf("PATCH %s: %+v, want %s", body, r, says)
		}
	}
	for target, status := range map[string]int{
		"/jobs/night:cancel": http.StatusBadRequest, "/register": http.StatusMethodNotAllowed,
		"/operations/a": http.StatusMethodNotAllowed, "/jobs/night": http.StatusNotFound,
	} {
		if r := w.ask(http.MethodPatch, target, `{"maxBatches":5,"by":"ann","why":"w"}`); r.Status != status {
			t.Errorf("PATCH %s: %+v", target, r)
		}
	}
	if r := w.ask(http.MethodGet, "/jobs/night", ""); r.Status != http.StatusNotFound {
		t.Errorf("%+v", r)
	}
	if r := w.ask(http.MethodGet, "/jobs/night:cancel", ""); r.Status != http.StatusBadRequest {
		t.Errorf("%+v", r)
	}
}

// TestJobObject: a submitter may name the object that it has stored, in both ways.
func TestJobObject(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	name := files.Input("jobs/nightly", aDigest)
	for _, object := range []string{name, w.storage.String() + "/" + name} {
		body := `{"model":"m","input":{"sha256":"` + aDigest + `","bytes":99,"requests":1,"object":"` + object + `"}}`
		if r := w.ask(http.MethodPost, "/jobs/nightly", body); r.Status/100 != 2 || r.Input.Object != name {
			t.Errorf("%s: %+v", object, r)
		}
	}
}

// TestJobWithoutStorage: where there is no job storage, the answer says which variable is missing. A job that
// is there is read and cancelled all the same.
func TestJobWithoutStorage(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, ""))
	w.options.Storage = nil
	if r := w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, "")); r.Status != http.StatusServiceUnavailable ||
		!strings.Contains(r.Error.Message, "OPLEDGER_JOB_STORAGE") {
		t.Errorf("%+v", r)
	}
	if r := w.ask(http.MethodGet, "/jobs/nightly", ""); r.Status != http.StatusOK {
		t.Errorf("%+v", r)
	}
	if r := w.ask(http.MethodPost, "/jobs/nightly:cancel", `{"by":"ann","why":"w"}`); r.Status != http.StatusOK {
		t.Errorf("%+v", r)
	}
}

// TestJobInputIsThere: a function that may read job storage refuses a job whose input is not there, and one
// whose input has another size.
func TestJobInputIsThere(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	w.options.ReadsStorage = true
	r := w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, ""))
	if r.Status != http.StatusConflict || !strings.Contains(r.Error.Message, "upload it first") {
		t.Errorf("%+v", r)
	}
	w.logged("refused")
	store := func(key operation.Key, size int) {
		_, err := w.storage.Create(t.Context(), files.Input(key, aDigest), strings.NewReader(strings.Repeat("x", size)))
		if err != nil {
			t.Fatal(err)
		}
	}
	store("jobs/short", 999)
	if r := w.ask(http.MethodPost, "/jobs/short", jobBody(aDigest, "")); r.Status != http.StatusConflict {
		t.Errorf("%+v", r)
	}
	store("jobs/nightly", 1000)
	for _, status := range []int{http.StatusCreated, http.StatusOK} {
		if r := w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, "")); r.Status != status {
			t.Errorf("%+v", r)
		}
	}
}

// TestJobCancelled: the first request to cancel stands, with who made it and why.
func TestJobCancelled(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	if r := w.ask(http.MethodPost, "/jobs/nightly:cancel", `{"by":"ann","why":"w"}`); r.Status != http.StatusNotFound {
		t.Errorf("%+v", r)
	}
	w.logged("refused")
	w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, ""))
	w.log.Reset()
	for _, by := range []string{"ann", "ben"} {
		r := w.ask(http.MethodPost, "/jobs/nightly:cancel", `{"by":"`+by+`","why":"wrong prompt"}`)
		if r.Status != http.StatusOK || r.Cancelled == nil || r.Cancelled.By != "ann" || r.Cancelled.Why != "wrong prompt" {
			t.Errorf("%+v", r)
		}
		w.logged("cancelled")
	}
}

// TestJobHeld: a job is paused, resumed and changed, and says who did so and why; submitted again it is known [J1].
func TestJobHeld(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, ""))
	w.log.Reset()
	for _, by := range []string{"ann", "ben"} {
		r := w.ask(http.MethodPost, "/jobs/nightly:pause", `{"by":"`+by+`","why":"wrong prompt"}`)
		if r.Status != http.StatusOK || r.Hold == nil || r.Hold.By != "ann" || r.Hold.Reason != job.HeldByOperator {
			t.Errorf("%+v", r)
		}
		w.logged("paused")
	}
	r := w.ask(http.MethodPost, "/jobs/nightly:resume", `{"by":"ben","why":"it is right"}`)
	if r.Status != http.StatusOK || r.Hold != nil || r.Resumed == nil || r.Resumed.Why != "it is right" {
		t.Errorf("%+v", r)
	}
	w.logged("resumed")
	r = w.ask(http.MethodPatch, "/jobs/nightly", `{"maxBatches":5,"maxFailures":"2%","by":"ann","why":"quota"}`)
	if r.Status != http.StatusOK || r.Options.MaxBatches != 5 || r.Options.MaxFailures != "2%" || len(r.Changes) != 1 ||
		r.Changes[0].What != "maxBatches 20 → 5, maxFailures 1% → 2%" || r.Changes[0].By != "ann" {
		t.Errorf("%+v", r)
	}
	w.logged("changed")
	r = w.ask(http.MethodPatch, "/jobs/nightly", `{"deadline":"8h","by":"ann","why":"w"}`)
	if at := w.clock.Now().Add(8 * time.Hour); !r.Options.Deadline.Equal(operation.Instant(at)) {
		t.Errorf("%+v", r)
	}
	if r = w.ask(http.MethodPatch, "/jobs/nightly", `{"deadline":"","by":"ann","why":"w"}`); !r.Options.Deadline.IsZero() {
		t.Errorf("%+v", r)
	}
	r = w.ask(http.MethodPatch, "/jobs/nightly", `{"priority":7,"by":"ann","why":"first"}`)
	if r.Status != http.StatusOK || r.Options.Priority != 7 || r.Changes[len(r.Changes)-1].What != "priority 0 → 7" {
		t.Errorf("%+v", r)
	}
	r = w.ask(http.MethodPost, "/jobs/later", jobBody(aDigest, `,"deadline":"12h"`))
	if at := r.Options.Deadline; r.Status != http.StatusCreated || at.IsZero() {
		t.Errorf("%+v", r)
	}
	r = w.ask(http.MethodPost, "/jobs/late", jobBody(aDigest, `,"deadline":"2006-01-02T15:04:05Z"`))
	if r.Status != http.StatusBadRequest || !strings.Contains(r.Error.Message, "deadline: it must be in the future") {
		t.Errorf("%+v", r)
	}
	if r := w.ask(http.MethodPost, "/jobs/nightly", jobBody(aDigest, "")); r.Status != http.StatusOK ||
		r.Options.MaxBatches != 5 {
		t.Errorf("again: %+v", r)
	}
	if r := w.ask(http.MethodPatch, "/jobs/none", `{"maxBatches":5,"by":"ann","why":"w"}`); r.Status !=
		http.StatusNotFound {
		t.Errorf("%+v", r)
	}
}

// TestJobStoreDown: a job that cannot be recorded now is 503, and nothing of it is created.
func TestJobStoreDown(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"/jobs/nightly", "/jobs/nightly:cancel"} {
		body := jobBody(aDigest, "")
		if strings.HasSuffix(target, ":cancel") {
			body = `{"by":"ann","why":"w"}`
		}
		if r := w.ask(http.MethodPost, target, body); r.Status != http.StatusServiceUnavailable {
			t.Errorf("%s: %+v", target, r)
		}
		w.logged("error")
	}
}
