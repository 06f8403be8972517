package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/effect/results"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// listed asks for a page of operations, and returns their keys and the cursor of the next page.
func (w *jobsWorld) listed(query string) (keys []string, next string) {
	w.Helper()
	r := w.ask(http.MethodGet, "/operations"+query, nil)
	var page struct {
		Operations []operation.Report
		Next       string
	}
	if err := json.Unmarshal(r.Body.Bytes(), &page); err != nil || r.Code != http.StatusOK {
		w.Fatalf("%s: %d %s %v", query, r.Code, r.Body, err)
	}
	for _, rec := range page.Operations {
		keys = append(keys, string(rec.Key))
	}
	return keys, page.Next
}

func (w *jobsWorld) register(name, kind string) {
	w.Helper()
	body := strings.NewReader(`{"name":"` + name + `","jobKind":"` + kind + `"}`)
	w.wants(name, w.ask(http.MethodPost, "/register", body), http.StatusCreated, "")
}

// TestListOperations: pages of operations by what is asked for; what is wrong with the request is said at once.
func TestListOperations(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	w.register("batches/a", "nightly-1")
	w.register("batches/b", "nightly-2")
	w.register("interactions/c", "other")
	for query, want := range map[string][]string{
		"":                                     {"batches/a", "batches/b", "interactions/c"},
		"?collection=batches":                  {"batches/a", "batches/b"},
		"?jobKind=nightly-*":                   {"batches/a", "batches/b"},
		"?jobKind=other&pending=true":          {"interactions/c"},
		"?state=PENDING&state=PENDING":         {"batches/a", "batches/b", "interactions/c"},
		"?state=FAILED&state=EXPIRED":          nil,
		"?since=2999-01-01T00:00:00Z":          nil,
		"?since=2020-01-01T00:00:00Z&limit=50": {"batches/a", "batches/b", "interactions/c"},
	} {
		keys, next := w.listed(query)
		if slices.Sort(keys); !slices.Equal(keys, want) || next != "" {
			t.Errorf("%s: %v, %q, want %v", query, keys, next, want)
		}
	}
	first, next := w.listed("?limit=2")
	second, last := w.listed("?limit=2&after=" + next)
	all := append(first, second...)
	if slices.Sort(all); len(first) != 2 || len(slices.Compact(all)) != 3 || last != "" {
		t.Errorf("%v, %v, %q", first, second, last)
	}
	r := w.ask(http.MethodGet,
		"/operations?state=DONE&collection=jobz&jobKind=[&pending=yes&since=now&limit=0&after=x&page=2", nil)
	w.wants("what is wrong", r, http.StatusBadRequest, "state: it must be ")
	if len(r.Error.Problems) != 8 {
		t.Errorf("%q", r.Error.Problems)
	}
}

// TestForgetOperation: what is recorded about an operation is deleted, unless it is a job that runs.
func TestForgetOperation(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	w.register("models/veo/operations/a", "")
	w.wants("first", w.ask(http.MethodDelete, "/operations/models/veo/operations/a", nil), http.StatusOK, "")
	w.wants("again", w.ask(http.MethodDelete, "/operations/operations/a", nil), http.StatusNotFound, "")
	w.collected()
	w.wants("a job", w.ask(http.MethodDelete, "/operations/jobs/nightly", nil), http.StatusConflict, "has not ended")
	w.wants("no name", w.ask(http.MethodDelete, "/operations/", nil), http.StatusBadRequest, "it is empty")
}

// TestCancelOperation: who asks and why is recorded before Gemini is asked.
func TestCancelOperation(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	w.register("batches/a", "")
	w.register("models/veo/operations/b", "")
	const body = `{"by":"ann","why":"a test"}`
	cancel := func(target, body string) jobsReply {
		return w.ask(http.MethodPost, "/operations/"+target, strings.NewReader(body))
	}
	w.wants("no why", cancel("batches/a:cancel", `{"by":"ann"}`), http.StatusBadRequest, `"why"`)
	w.wants("no operation", cancel("batches/none:cancel", body), http.StatusNotFound, "")
	w.wants("a video", cancel("operations/b:cancel", body), http.StatusBadRequest, "can be cancelled")
	w.wants("Gemini is away", cancel("batches/a:cancel", body), http.StatusServiceUnavailable, "is recorded")
	w.wants("another verb", cancel("batches/a:stop", body), http.StatusMethodNotAllowed, "")
	if rec, err := w.server.Ledger.Operations.Read(t.Context(), "batches/a"); err != nil || rec.CancelRequested == nil ||
		rec.CancelRequested.By != "ann" {
		t.Errorf("%+v, %v", rec, err)
	}
	w.collected()
	w.wants("a job", cancel("jobs/nightly:cancel", body), http.StatusOK, "")
}

// TestBatchResults: what can be said before a batch has results.
func TestBatchResults(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t)
	w.register("batches/a", "")
	const target = "/operations/batches/a/results"
	w.wants("before its end", w.ask(http.MethodGet, target, nil), http.StatusConflict, "it is PENDING")
	w.wants("parameters", w.ask(http.MethodGet, target+"?kind=failed", nil), http.StatusBadRequest, "no parameters")
	w.wants("no batch", w.ask(http.MethodGet, "/operations/batches/none/results", nil), http.StatusNotFound, "")
	w.wants("a video", w.ask(http.MethodGet, "/operations/operations/x/results", nil), http.StatusNotImplemented, "")
	w.settle("batches/a")
	w.wants("Gemini is away", w.ask(http.MethodGet, target, nil), http.StatusServiceUnavailable, "results of batches/a")
}

// TestBatchResultsDeleted: of results that an effect has stored, the headers say whether all are there, and how many
// there should be.
func TestBatchResultsDeleted(t *testing.T) {
	t.Parallel()
	w := newJobsWorld(t, "OPLEDGER_EFFECTS=[{name: keep, do: results, collection: reviews, on: [SUCCEEDED]}]")
	for key, want := range map[operation.Key]struct {
		there    []string
		complete string
	}{
		"batches/whole": {[]string{"a", "b"}, "true"}, "batches/torn": {[]string{"a"}, "false"},
	} {
		w.register(string(key), "")
		w.settle(key)
		grant, err := w.server.Ledger.Effects.Claim(t.Context(), key, "keep")
		w.must(err)
		outcomes := []ledger.ItemOutcome{{Key: "a"}, {Key: "b", Index: 1}}
		for i, item := range want.there {
			outcomes[i].ExtraWrites = []ledger.Write{{
				Path: ledger.ResultPath("reviews", key, item), Data: results.ItemResult{Key: item, Response: "{}"},
			}}
		}
		_, err = w.server.Ledger.Items.Record(t.Context(), grant.Lease, ledger.ItemProgress{}, outcomes)
		w.must(err)
		w.must(w.server.Ledger.Effects.Finish(t.Context(), grant.Lease))
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r := w.ask(method, "/operations/"+string(key)+"/results", nil)
			w.wants(string(key), r, http.StatusOK, "")
			if h := r.Header(); h.Get(resultsComplete) != want.complete || h.Get(resultsRequests) != "2" {
				t.Errorf("%s %s: %v", method, key, h)
			}
			if lines := strings.Count(r.Body.String(), "\n"); method == http.MethodGet && lines != len(want.there) {
				t.Errorf("%s: %q", key, r.Body)
			}
		}
	}
}

// settle ingests the success of a batch.
func (w *jobsWorld) settle(key operation.Key) {
	w.Helper()
	_, err := w.server.Ledger.Operations.Ingest(w.Context(), operation.Event{
		Name: operation.Name{Key: key, Resource: string(key)}, State: operation.Succeeded, Source: operation.Webhook,
		DeliveryID: "msg-" + string(key),
	})
	w.must(err)
}
