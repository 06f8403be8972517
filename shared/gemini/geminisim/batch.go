package geminisim

import (
	"math/rand/v2"
	"net/http"
)

func (s *Sim) batchRoutes(mux *http.ServeMux, models verbs) {
	create := func(embeds bool) http.HandlerFunc {
		return s.serve(OpCreate, labelled(batchLabel), func(w http.ResponseWriter, r *http.Request) {
			s.createBatch(w, r, embeds)
		})
	}
	models["batchGenerateContent"], models["asyncBatchEmbedContent"] = create(false), create(true)
	mux.HandleFunc("GET /v1beta/batches", s.serve(OpList, noSubject, s.listBatches))
	mux.HandleFunc("GET /v1beta/batches/{id}", s.serve(OpGet, pathSubject("batches/"), s.getBatch))
	mux.HandleFunc("DELETE /v1beta/batches/{id}", s.serve(OpDelete, pathSubject("batches/"), s.deleteBatch))
	mux.Handle("POST /v1beta/batches/{id}", verbs{"cancel": s.serve(OpCancel, pathSubject("batches/"), s.cancelBatch)})
}

// planBatch draws what only a batch has in its plan.
func (o *operation) planBatch(r *rand.Rand, f Faults) {
	if o.kind != batchKind {
		return
	}
	o.plan.lines = f
	refused, partial, part := r.Float64() < f.RefusedBatch, r.Float64() < f.PartialCancelled, r.Float64()
	foreign := r.Float64() < f.ForeignInput
	o.plan.stillCounts = r.Float64() < f.CancelledStillCount
	o.plan.ignoresCancel = r.Float64() < f.CancelsIgnored
	o.plan.foreignInput = foreign && o.inputFile != ""
	if o.input == nil {
		return
	}
	if partial {
		o.plan.part = part
	}
	if refused || o.input.poisoned {
		o.plan.refused, o.plan.final = true, StateFailed
	}
}

// getBatch shows a batch, some with the input file of another one.
func (s *Sim) getBatch(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, batchKind, writeNotFound, func(b *operation) any {
		shown := b.batch(b.seen(r))
		if b.plan.foreignInput {
			s.countLocked(func(st *Stats) { st.ForeignInputs++ })
			shown.Metadata.InputConfig.FileName = "files/" + id(stream(b.id, "foreign input"), 12)
		}
		return shown
	})
}

// cancelBatch always answers `{}`, because a cancellation is best effort.
func (s *Sim) cancelBatch(w http.ResponseWriter, r *http.Request) {
	s.onOperation(w, r, batchKind, writeNotFound, func(b *operation) any {
		if b.plan.ignoresCancel {
			s.countLocked(func(st *Stats) { st.CancelsIgnored++ })
		} else {
			s.cancel(b)
		}
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
