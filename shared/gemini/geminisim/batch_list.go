package geminisim

import (
	"cmp"
	"net/http"
	"slices"
)

func (s *Sim) listBatches(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	size, from, ok := page(w, q.Get("pageSize"), q.Get("pageToken"))
	if !ok {
		return
	}
	writeJSON(w, s.list(r, size, from))
}

// list returns a page of that size. It starts at the batch that was created from-th, or at the
// first of the list.
func (s *Sim) list(r *http.Request, size, from int) listResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.listed()
	at := max(0, slices.IndexFunc(all, func(b *operation) bool { return b.nth == from }))
	resp := listResponse{}
	for _, b := range all[at:] {
		if b.deleted {
			continue
		}
		if len(resp.Operations) == size {
			resp.NextPageToken = pageToken(b.nth)
			break
		}
		resp.Operations = append(resp.Operations, b.batch(b.row(r)))
	}
	return resp
}

// row returns the snapshot of the batch that a list shows.
func (o *operation) row(r *http.Request) snapshot {
	if o.plan.staleRow && !o.runningAt.IsZero() {
		return snapshot{state: o.kind.running, updateTime: o.runningAt}
	}
	return o.seen(r)
}

// listed returns all batches in the order of a list: newest first, as seen live, unless
// Config.ShuffleLists. A batch created between two pages does not move the others.
func (s *Sim) listed() []*operation {
	var all []*operation
	for _, o := range slices.Backward(s.operations) {
		if o.kind == batchKind {
			all = append(all, o)
		}
	}
	if s.cfg.ShuffleLists {
		slices.SortFunc(all, func(a, b *operation) int { return cmp.Compare(a.rank, b.rank) })
	}
	return all
}
