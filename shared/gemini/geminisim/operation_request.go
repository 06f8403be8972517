package geminisim

import "net/http"

// onOperation serves a request about one operation. act runs under s.mu and returns the answer,
// which is sent without s.mu, because a reader may be slow. A GET does not find a hidden operation.
func (s *Sim) onOperation(
	w http.ResponseWriter, r *http.Request, k *kind, notFound func(http.ResponseWriter), act func(*operation) any,
) {
	s.mu.Lock()
	o := s.find(k, r)
	var resp any
	if o != nil {
		resp = act(o)
	}
	s.mu.Unlock()
	if o == nil {
		notFound(w)
		return
	}
	writeJSON(w, resp)
}

// find returns the operation of that kind in the path, or nil.
func (s *Sim) find(k *kind, r *http.Request) *operation {
	o := s.byID[r.PathValue("id")]
	if o == nil || o.kind != k || o.deleted || k == videoKind && o.model != "models/"+r.PathValue("model") {
		return nil
	}
	if r.Method == http.MethodGet && s.elapsed() < o.visibleFrom {
		s.countLocked(func(st *Stats) { st.APIHidden++ })
		return nil
	}
	return o
}

// seen returns the snapshot of the operation that a request gets.
func (o *operation) seen(r *http.Request) snapshot {
	if isStale(r) {
		return o.before
	}
	return o.now
}
