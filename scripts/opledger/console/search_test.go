package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
)

// TestSearch: any form of a name, a bare id, a correlation id and the whole id of a delivery lead to the operation, the
// intent or the delivery.
func TestSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.register("interactions/done", "", "")
	w.submit("jobs/small", 10, job.Options{MaxBatches: 1})
	for text, want := range map[string]string{
		"batches/dead": "/console/operation?key=batches%2Fdead", "dead": "/console/operation?key=dead",
		"https://generativelanguage.googleapis.com/v1beta/batches/dead": "/console/operation?key=batches%2Fdead",
		"night-1": "/console/operation?key=batches%2Fdone", "night-2": "/console/intent?key=night-2",
		"": "/console/operations", "msg_bad": "/console/quarantined?key=msg_bad",
		"small": "/console/operation?key=jobs%2Fsmall", "batches/fa": "/console/operations?find=batches%2Ffa",
		"m1": "/console/operation?key=batches%2Fdone", "m": "/console/operations?find=m",
	} {
		answer := w.get(link("/console/search", "q", text))
		if got := answer.Header().Get("Location"); answer.Code != http.StatusSeeOther || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %d, to %s, want %s", text, answer.Code, got, want)
		}
	}
	if body := w.get("/console/operation?key=dead").Body.String(); !strings.Contains(body, "<code>batches/dead</code>") {
		t.Errorf("a bare id: %s", body)
	}
	for find, want := range map[string]string{
		"batches/fa": "batches/failing", "fai": "batches/failing", "night-": "batches/done",
	} {
		if body := w.get("/console/operations?find=" + find).Body.String(); !strings.Contains(body, "row-"+want) ||
			strings.Contains(body, "row-batches/missing") {
			t.Errorf("%s: %s", find, body)
		}
	}
	says(t, w.get("/console/operations?find=nothing").Body.String(), "No operation has that name",
		"A delivery is found by its whole id, until OPLEDGER_RETENTION has passed")
	says(t, w.get("/console/operation?key=batches/none").Body.String(), "No operation has that name.")
	if body := w.get("/console/operation?key=done").Body.String(); !strings.Contains(body, "interactions%2Fdone") ||
		!strings.Contains(body, "batches%2Fdone") {
		t.Errorf("an id of two collections: %s", body)
	}
}

// TestSearchUnindexed: a search that could not ask for deliveries does not say that there is none.
func TestSearchUnindexed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.console.ledger = w.over(unindexed{w.store})
	to := w.get("/console/search?q=m1").Header().Get("Location")
	page := w.get(to).Body.String()
	says(t, page, "deliveries could not be searched", "the query requires an index")
	if strings.Contains(page, "No operation has that name") {
		t.Errorf("%s: %s", to, page)
	}
}

// unindexed is a store without the index of deliveries, as Firestore is while it is built.
type unindexed struct{ ledger.Store }

func (u unindexed) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	if q.Collection == "deliveries" {
		return nil, errors.New("the query requires an index")
	}
	return u.Store.Query(ctx, q)
}
