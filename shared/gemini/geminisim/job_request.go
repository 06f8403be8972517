package geminisim

import "net/http"

// onJob serves a request about one job. act runs under s.mu and returns the answer, which is sent
// without s.mu, because a reader may be slow. A GET does not find a hidden job.
func (s *Sim) onJob(
	w http.ResponseWriter, r *http.Request, k *kind, notFound func(http.ResponseWriter), act func(*job) any,
) {
	s.mu.Lock()
	j := s.find(k, r)
	var resp any
	if j != nil {
		resp = act(j)
	}
	s.mu.Unlock()
	if j == nil {
		notFound(w)
		return
	}
	writeJSON(w, resp)
}

// find returns the job of that kind in the path, or nil.
func (s *Sim) find(k *kind, r *http.Request) *job {
	j := s.byID[r.PathValue("id")]
	if j == nil || j.kind != k || j.deleted || k == videoKind && j.model != "models/"+r.PathValue("model") {
		return nil
	}
	if r.Method == http.MethodGet && s.elapsed() < j.visibleFrom {
		s.countLocked(func(st *Stats) { st.APIHidden++ })
		return nil
	}
	return j
}

// seen returns the snapshot of the job that a request gets.
func (j *job) seen(r *http.Request) snapshot {
	if isStale(r) {
		return j.before
	}
	return j.now
}
