package reconcile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// A fleet is many operations that run for ever. The fleet answers for them instead of the
// simulator.
type fleet struct {
	ids         []string
	updated     time.Time
	gets, lists atomic.Int64
}

// fleet registers n operations of the kind of first, which is not registered itself.
func (w *world) fleet(first operation.Name, n int) *fleet {
	w.Helper()
	w.copies(w.registered(first), n-1)
	f := &fleet{ids: []string{first.Key.ID()}, updated: w.clock.Now()}
	for i := range n - 1 {
		f.ids = append(f.ids, fmt.Sprintf("%s-%07d", first.Key.ID(), i+1))
	}
	w.inFront(f.answer)
	return f
}

// answer answers for the fleet as Gemini would.
func (f *fleet) answer(rw http.ResponseWriter, r *http.Request) bool {
	rw.Header().Set("Content-Type", "application/json")
	_, id, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1beta/"), "/")
	var body any
	switch {
	case isList(r):
		f.lists.Add(1)
		body = f.page(r)
	case strings.HasPrefix(r.URL.Path, "/v1beta/interactions/"):
		f.gets.Add(1)
		body = map[string]any{"id": id, "status": "in_progress", "updated": f.updated.Format(time.RFC3339)}
	default:
		f.gets.Add(1)
		body = f.batch(id)
	}
	_ = json.NewEncoder(rw).Encode(body) // a caller that went away is no concern of Gemini's
	return true
}

func (f *fleet) page(r *http.Request) any {
	size, _ := strconv.Atoi(r.URL.Query().Get("pageSize"))
	from, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
	to := min(from+size, len(f.ids))
	page := map[string]any{}
	batches := make([]any, 0, size)
	for _, id := range f.ids[from:to] {
		batches = append(batches, f.batch(id))
	}
	page["operations"] = batches
	if to < len(f.ids) {
		page["nextPageToken"] = strconv.Itoa(to)
	}
	return page
}

func (f *fleet) batch(id string) any {
	return map[string]any{"name": "batches/" + id, "metadata": map[string]any{
		"state": "BATCH_STATE_RUNNING", "createTime": f.updated, "updateTime": f.updated,
	}}
}

// requests returns the number of requests that the fleet answered.
func (f *fleet) requests() int { return int(f.gets.Load() + f.lists.Load()) }
