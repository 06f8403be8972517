package geminisim

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// cancelTakes is the simulated time from a cancellation to its effect: the
// answer to the request does not mean that the job has stopped.
const cancelTakes = 5 * time.Second

func (s *Sim) batchRoutes(mux *http.ServeMux, models verbs) {
	models["batchGenerateContent"] = s.serve(OpCreate, createSubject, s.createBatch)
	mux.HandleFunc("GET /v1beta/batches", s.serve(OpList, noSubject, s.listBatches))
	mux.HandleFunc("GET /v1beta/batches/{id}", s.serve(OpGet, pathSubject, s.getBatch))
	mux.HandleFunc("DELETE /v1beta/batches/{id}", s.serve(OpDelete, pathSubject, s.deleteBatch))
	mux.Handle("POST /v1beta/batches/{id}", verbs{"cancel": s.serve(OpCancel, pathSubject, s.cancelBatch)})
}

func (s *Sim) createBatch(w http.ResponseWriter, r *http.Request) {
	var req createRequest
	if !readJSON(w, r, &req, false) {
		return
	}
	in := req.Batch.InputConfig
	if (in.FileName == "") == (len(in.Requests.Requests) == 0) {
		writeError(w, http.StatusBadRequest, "batch.inputConfig needs one of fileName and requests.")
		return
	}
	writeJSON(w, s.newBatch(&req, "models/"+r.PathValue("id")))
}

// newBatch makes a batch, sets it going and returns what the API says of it.
func (s *Sim) newBatch(req *createRequest, model string) operation {
	in, hooks := req.Batch.InputConfig, req.Batch.WebhookConfig
	s.mu.Lock()
	defer s.mu.Unlock()
	nth := strconv.Itoa(len(s.batches))
	script := s.scripts[req.Batch.DisplayName]
	faults := s.cfg.Faults
	if script.Faults != nil {
		faults = *script.Faults
	}
	b := &batch{
		id:           id(s.rand("batch", nth), 36),
		displayName:  req.Batch.DisplayName,
		model:        model,
		inputFile:    in.FileName,
		requests:     in.Requests.Requests,
		userMetadata: hooks.UserMetadata,
		ownURIs:      len(hooks.URIs) > 0,
		createTime:   s.cfg.Now(),
		plan:         script.change(s.newPlan(nth, faults)),
	}
	b.now = snapshot{state: StatePending, updateTime: b.createTime}
	if script.Hold != "" {
		b.now.state = script.Hold
	}
	b.before = b.now
	b.ctx, b.unplan = context.WithCancel(s.ctx)
	s.batches = append(s.batches, b)
	s.byID[b.id] = b
	s.countLocked(func(st *Stats) { st.Created++ })
	s.entered(b)
	if script.Hold == "" {
		ctx := b.ctx
		s.spawn(func() { s.follow(ctx, b) })
	}
	return b.operation(b.now)
}

// find returns the batch that the path names, nil where the API has none.
// Callers hold s.mu, and answer after they have let it go: a slow reader must
// not stop the world.
func (s *Sim) find(r *http.Request) *batch {
	if b := s.byID[r.PathValue("id")]; b != nil && !b.deleted {
		return b
	}
	return nil
}

func (s *Sim) getBatch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.find(r)
	if b == nil {
		s.mu.Unlock()
		writeNotFound(w)
		return
	}
	op := b.operation(b.seen(r))
	s.mu.Unlock()
	writeJSON(w, op)
}

// seen is what a request gets to know of the batch.
func (b *batch) seen(r *http.Request) snapshot {
	if isStale(r) {
		return b.before
	}
	return b.now
}

// listBatches lists newest first, as seen live; no order is documented.
func (s *Sim) listBatches(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size, from, ok := page(w, q.Get("pageSize"), q.Get("pageToken"))
	if !ok {
		return
	}
	writeJSON(w, s.list(r, size, from))
}

// list is the page of that size from the batch created at from downwards.
func (s *Sim) list(r *http.Request, size, from int) listResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from < 0 || from >= len(s.batches) {
		from = len(s.batches) - 1
	}
	resp := listResponse{}
	for i := from; i >= 0; i-- {
		b := s.batches[i]
		if b.deleted {
			continue
		}
		if len(resp.Operations) == size {
			resp.NextPageToken = pageToken(i)
			break
		}
		resp.Operations = append(resp.Operations, b.operation(b.seen(r)))
	}
	return resp
}

// cancelBatch takes the batch out of its plan; a batch that has ended stays as
// it is. The answer is `{}` either way: cancelling is best effort.
func (s *Sim) cancelBatch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.find(r)
	if b != nil && !b.now.state.Terminal() {
		ctx := s.replan(b)
		s.spawn(func() {
			if s.sleep(ctx, cancelTakes) {
				s.move(ctx, b, StateCancelled)
			}
		})
	}
	s.mu.Unlock()
	if b == nil {
		writeNotFound(w)
		return
	}
	writeJSON(w, struct{}{})
}

// deleteBatch makes the API forget the batch. The job goes on, and its
// completion is still delivered (documented for operations: deleting does not
// cancel).
func (s *Sim) deleteBatch(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b := s.find(r)
	if b != nil {
		b.deleted = true
	}
	s.mu.Unlock()
	if b == nil {
		writeNotFound(w)
		return
	}
	writeJSON(w, struct{}{})
}
