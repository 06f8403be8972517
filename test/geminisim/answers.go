package geminisim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Op is one kind of request to the API.
type Op string

// The requests that AnswerNext knows.
const (
	OpCreate   Op = "create"   // batches: POST models/m:batchGenerateContent
	OpGet      Op = "get"      // batches
	OpList     Op = "list"     // batches
	OpCancel   Op = "cancel"   // batches
	OpDelete   Op = "delete"   // batches
	OpDownload Op = "download" // of a batch's result file
	OpWebhook  Op = "webhook"  // any request about webhooks
)

// Answer is an answer that a test puts into the API's mouth.
type Answer struct {
	Status int         // 0 means 200
	Header http.Header // on top of Content-Type: application/json
	Body   []byte
	// Drop breaks the connection off in the middle of the answer. (Broken off
	// before it, Go's HTTP client quietly repeats a GET by itself.)
	Drop bool
	// Perform carries the request out first: the work is done, and this is
	// said instead of its result.
	Perform bool
	// Times is how many requests get this answer: 0 means one, below 0 means
	// all until ClearAnswers.
	Times int
}

// ErrorAnswer is a standard JSON error with that HTTP status as its code.
func ErrorAnswer(status int, message string) Answer {
	return Answer{Status: status, Body: errorBody(status, message)}
}

// scripted is an Answer that waits for its request.
type scripted struct {
	op     Op
	name   string
	answer Answer
	left   int
}

// AnswerNext makes the API give these answers, in this order, to the next
// requests of that kind which concern the batch of that name (batches/ and the
// id, or its display name; for OpCreate only the display name can match). An
// empty name matches every request of the kind; OpList and OpWebhook concern
// no batch. Scripted answers come before the fault plan.
//
// Answers for a name come before answers for all. Those given by several calls
// queue up.
func (s *Sim) AnswerNext(op Op, name string, answers ...Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range answers {
		left := a.Times
		switch {
		case left == 0:
			left = 1
		case left < 0:
			left = math.MaxInt
		}
		s.answers = append(s.answers, &scripted{op, name, a, left})
	}
}

// ClearAnswers forgets the scripted answers that have not been given.
func (s *Sim) ClearAnswers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = nil
}

// requestKey counts the requests of one kind about one batch, so that the
// fault that the nth of them meets does not depend on the others.
type requestKey struct {
	op Op
	of string
}

// subject is what a request is about; empty fields are not known.
type subject struct{ id, displayName string }

// serve wraps a handler with what a script or a fault says instead of it.
func (s *Sim) serve(op Op, about func(*http.Request) subject, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		of := about(r)
		a, ok := s.scriptedAnswer(op, of)
		if !ok {
			var stale bool
			if a, stale, ok = s.faultyAnswer(op, of); stale {
				r = r.WithContext(context.WithValue(r.Context(), staleKey{}, true))
			}
		}
		if !ok {
			handler(w, r)
			return
		}
		if a.Perform {
			handler(discard{}, r)
		}
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		for k, v := range a.Header {
			w.Header()[k] = v
		}
		if a.Status == 0 {
			a.Status = http.StatusOK
		}
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body)
		if a.Drop {
			_ = http.NewResponseController(w).Flush() // else nothing of the answer is sent
			panic(http.ErrAbortHandler)               // net/http's way of breaking off
		}
	}
}

func (s *Sim) scriptedAnswer(op Op, of subject) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.byID[of.id]; b != nil {
		of.displayName = b.displayName
	}
	best := -1
	for i, sc := range s.answers {
		named := sc.name != "" && (sc.name == of.displayName || of.id != "" && sc.name == batchPrefix+of.id)
		if sc.op != op || !named && sc.name != "" {
			continue
		}
		if named {
			best = i
			break
		}
		if best < 0 {
			best = i
		}
	}
	if best < 0 {
		return Answer{}, false
	}
	sc := s.answers[best]
	if sc.left--; sc.left == 0 {
		s.answers = append(s.answers[:best], s.answers[best+1:]...)
	}
	s.countLocked(func(st *Stats) { st.APIScripted++ })
	return sc.answer, true
}

// staleKey marks the context of a request that is to be answered with the
// state before the present one.
type staleKey struct{}

func isStale(r *http.Request) bool { return r.Context().Value(staleKey{}) != nil }

// faultyAnswer draws what the fault plan says to this request.
func (s *Sim) faultyAnswer(op Op, of subject) (a Answer, stale, ok bool) {
	f := s.cfg.Faults
	s.mu.Lock()
	defer s.mu.Unlock()
	key := requestKey{op, of.id + of.displayName}
	if op == OpCreate {
		// Submitters race for their place; what happens to the nth is the same
		// whoever it is.
		key.of = ""
	}
	n := s.requests[key]
	s.requests[key] = n + 1
	r := s.rand("request", string(op), key.of, strconv.FormatUint(n, 10))
	x := r.Float64()

	if op == OpCreate {
		if x >= f.CreatesLost {
			return Answer{}, false, false
		}
		s.countLocked(func(st *Stats) { st.APICreatesLost++ })
		a = ErrorAnswer(http.StatusServiceUnavailable, "The service is currently unavailable.")
		a.Perform = true
		return a, false, true
	}
	if op != OpGet && op != OpList && op != OpDownload {
		return Answer{}, false, false
	}
	switch {
	case x < f.APIErrors:
		s.countLocked(func(st *Stats) { st.APIErrors++ })
		switch r.IntN(4) {
		case 0:
			return ErrorAnswer(http.StatusInternalServerError, "An internal error has occurred."), false, true
		case 1:
			return ErrorAnswer(http.StatusGatewayTimeout, "Deadline expired before operation could complete."), false, true
		case 2:
			html := http.Header{"Content-Type": {"text/html; charset=UTF-8"}}
			return Answer{Status: http.StatusBadGateway, Header: html, Body: []byte("<html><title>502 Bad Gateway</title></html>")}, false, true
		}
		return ErrorAnswer(http.StatusServiceUnavailable, "The service is currently unavailable."), false, true
	case x < f.APIErrors+f.APIRateLimited:
		s.countLocked(func(st *Stats) { st.APIRateLimited++ })
		return s.rateLimited(time.Duration(5+r.IntN(26)) * time.Second), false, true
	case x < f.APIErrors+f.APIRateLimited+f.APIHollow && op != OpDownload:
		s.countLocked(func(st *Stats) { st.APIHollow++ })
		return hollow(op, of, r.IntN(3)), false, true
	case x < f.APIErrors+f.APIRateLimited+f.APIHollow+f.APIStale && op != OpDownload:
		s.countLocked(func(st *Stats) { st.APIStale++ })
		return Answer{}, true, false
	}
	return Answer{}, false, false
}

// rateLimited is a 429. Its Retry-After counts real seconds, because that is
// what an HTTP client waits, and at least one.
func (s *Sim) rateLimited(d time.Duration) Answer {
	seconds := strconv.Itoa(max(1, int(math.Ceil(s.real(d).Seconds()))))
	return Answer{
		Status: http.StatusTooManyRequests,
		Header: http.Header{"Retry-After": {seconds}},
		Body: errorBody(http.StatusTooManyRequests, "Resource has been exhausted (e.g. check quota).",
			map[string]any{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": seconds + "s"}),
	}
}

// hollow is a success that says nothing.
func hollow(op Op, of subject, kind int) Answer {
	switch {
	case kind == 0:
		return Answer{Body: errorBody(http.StatusInternalServerError, "An internal error has occurred.")}
	case kind == 1 && op == OpGet:
		return Answer{Body: mustJSON(map[string]any{"name": batchPrefix + of.id})}
	}
	return Answer{Body: []byte("{}")}
}

// pathSubject is the subject of a request that names its batch in the path.
func pathSubject(r *http.Request) subject { return subject{id: r.PathValue("id")} }

func noSubject(*http.Request) subject { return subject{} }

// createSubject reads the display name out of a creation, and leaves the body
// as it was.
func createSubject(r *http.Request) subject {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		// The handler meets the same error and answers it.
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return subject{}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var create createRequest
	_ = json.Unmarshal(body, &create) // what cannot be read, the handler refuses
	return subject{displayName: create.Batch.DisplayName}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, fmt.Errorf("geminisim: %w", f.err) }

// discard is the ResponseWriter of a request whose answer nobody hears.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
