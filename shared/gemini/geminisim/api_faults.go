package geminisim

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// requestKey is the key of a request counter: the fault of the nth request of one kind about one
// batch does not depend on other requests.
type requestKey struct {
	op Op
	of string
}

// staleKey marks the context of a request that gets the previous state.
type staleKey struct{}

func isStale(r *http.Request) bool { return r.Context().Value(staleKey{}) != nil }

// faultyAnswer returns the answer of the fault plan to this request, if any.
func (s *Sim) faultyAnswer(op Op, of subject) (a Answer, stale, ok bool) {
	f := s.cfg.Faults
	s.mu.Lock()
	defer s.mu.Unlock()
	key := requestKey{op, of.id + of.label}
	if op.creates() {
		// Submitters may race; the nth request gets the same answer in any order.
		key.of = ""
	}
	n := s.requests[key]
	s.requests[key] = n + 1
	r := s.rand("request", string(op), key.of, strconv.FormatUint(n, 10))
	x := r.Float64()

	if op.creates() {
		if x >= f.CreatesLost {
			return Answer{}, false, false
		}
		s.countLocked(func(st *Stats) { st.APICreatesLost++ })
		return lostCreation(op), false, true
	}
	if op == OpUpload && of.id != "" && x < f.UploadsLost {
		s.countLocked(func(st *Stats) { st.APIUploadsLost++ })
		return LostAnswer(), false, true
	}
	if !op.reads() {
		return Answer{}, false, false
	}
	fail := op.errors()
	switch {
	case x < f.APIErrors:
		s.countLocked(func(st *Stats) { st.APIErrors++ })
		switch r.IntN(4) {
		case 0:
			return fail(http.StatusInternalServerError, "An internal error has occurred."), false, true
		case 1:
			return fail(http.StatusGatewayTimeout, "Deadline expired before operation could complete."), false, true
		case 2:
			html := http.Header{"Content-Type": {"text/html; charset=UTF-8"}}
			return Answer{
				Status: http.StatusBadGateway,
				Header: html,
				Body:   []byte("<html><title>502 Bad Gateway</title></html>"),
			}, false, true
		}
		return fail(http.StatusServiceUnavailable, "The service is currently unavailable."), false, true
	case x < f.APIErrors+f.APIRateLimited:
		s.countLocked(func(st *Stats) { st.APIRateLimited++ })
		return s.rateLimited(op, time.Duration(5+r.IntN(26))*time.Second), false, true
	case x < f.APIErrors+f.APIRateLimited+f.APIHollow && op != OpDownload:
		s.countLocked(func(st *Stats) { st.APIHollow++ })
		return hollow(op, of, r.IntN(3)), false, true
	case x < f.APIErrors+f.APIRateLimited+f.APIHollow+f.APIStale && op.changes():
		s.countLocked(func(st *Stats) { st.APIStale++ })
		return Answer{}, true, false
	}
	return Answer{}, false, false
}

// lostCreation is LostAnswer in the form of such a creation.
func lostCreation(op Op) Answer {
	a := LostAnswer()
	if op == OpInteractionCreate {
		a.Body = interactionErrorBody(a.Status, "The service is currently unavailable.")
	}
	return a
}

// rateLimited returns a 429. Its Retry-After is in real seconds, for which an HTTP client waits,
// and at least 1.
func (s *Sim) rateLimited(op Op, d time.Duration) Answer {
	const message = "Resource has been exhausted (e.g. check quota)."
	seconds := strconv.Itoa(max(1, int(math.Ceil(s.real(d).Seconds()))))
	a := Answer{
		Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {seconds}},
		Body: errorBody(http.StatusTooManyRequests, message,
			map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": seconds + "s"}),
	}
	if op == OpInteractionGet {
		a.Body = interactionErrorBody(http.StatusTooManyRequests, message)
	}
	return a
}

// hollow returns a success without content. (For a video, the name alone would mean that it is not
// done.)
func hollow(op Op, of subject, kind int) Answer {
	switch {
	case kind == 0:
		return Answer{Body: errorBody(http.StatusInternalServerError, "An internal error has occurred.")}
	case kind == 1 && op == OpGet:
		return Answer{Body: mustJSON(map[string]any{"name": of.name})}
	case kind == 1 && op == OpInteractionGet:
		return Answer{Body: mustJSON(map[string]any{"id": of.id})}
	}
	return Answer{Body: []byte("{}")}
}
