package geminisim

import (
	"errors"
	"net/http"
)

func (s *Sim) batchRoutes(mux *http.ServeMux, models verbs) {
	models["batchGenerateContent"] = s.serve(OpCreate, labelled(batchLabel), s.createBatch)
	mux.HandleFunc("GET /v1beta/batches", s.serve(OpList, noSubject, s.listBatches))
	mux.HandleFunc("GET /v1beta/batches/{id}", s.serve(OpGet, pathSubject("batches/"), s.getBatch))
	mux.HandleFunc("DELETE /v1beta/batches/{id}", s.serve(OpDelete, pathSubject("batches/"), s.deleteBatch))
	mux.Handle("POST /v1beta/batches/{id}", verbs{"cancel": s.serve(OpCancel, pathSubject("batches/"), s.cancelBatch)})
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
	made, err := s.newBatch(&req, "models/"+r.PathValue("id"))
	if err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	writeJSON(w, made)
}

// newBatch creates and starts a batch, and returns it as the API shows it. An error is about the
// content of its input file.
func (s *Sim) newBatch(req *createRequest, model string) (batchOperation, error) {
	in, hooks := req.Batch.InputConfig, req.Batch.WebhookConfig
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	if file := s.uploads[in.FileName]; file != nil {
		if !file.final {
			return batchOperation{}, errors.New("the file " + in.FileName + " is not uploaded yet: its last bytes are missing.")
		}
		var err error
		if keys, err = keysIn(file.content); err != nil {
			return batchOperation{}, err
		}
	}
	b := &operation{
		kind:         batchKind,
		label:        req.Batch.DisplayName,
		model:        model,
		inputFile:    in.FileName,
		keys:         keys,
		requests:     in.Requests.Requests,
		userMetadata: hooks.UserMetadata,
		uris:         hooks.URIs,
	}
	s.launch(b)
	return b.batch(b.now), nil
}

func (s *Sim) getBatch(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, batchKind, writeNotFound, func(b *operation) any { return b.batch(b.seen(r)) })
}

// cancelBatch always answers `{}`, because a cancellation is best effort.
func (s *Sim) cancelBatch(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, batchKind, writeNotFound, func(b *operation) any {
		s.cancel(b)
		return struct{}{}
	})
}

// deleteBatch removes the batch from the API. The operation continues, and its completion is still
// delivered (documented for operations: deleting does not cancel).
func (s *Sim) deleteBatch(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, batchKind, writeNotFound, func(b *operation) any {
		b.deleted = true
		return struct{}{}
	})
}
