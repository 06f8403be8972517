package geminisim

import "net/http"

// onJob serves a request about one job: act runs under s.mu and returns what to answer, which
// happens after it, so that a slow reader does not stop the world. A GET does not find a job that
// is still hidden.
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

// find returns the job of that kind that the path names, nil where the API has none to show.
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

// seen is what a request gets to know of the job.
func (j *job) seen(r *http.Request) snapshot {
	if isStale(r) {
		return j.before
	}
	return j.now
}
