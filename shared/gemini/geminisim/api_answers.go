package geminisim

import (
	"context"
	"math"
	"net/http"
)

// Answer is an answer that a test puts into the API's mouth.
type Answer struct {
	Status int         // 0 means 200
	Header http.Header // on top of Content-Type: application/json
	Body   []byte
	// Drop breaks the connection off in the middle of the answer. (Broken off before it, Go's HTTP
	// client quietly repeats a GET by itself.)
	Drop bool
	// Hang says nothing at all until the caller goes away or the simulator is closed, and then
	// breaks the connection off.
	Hang bool
	// Perform carries the request out first: the work is done, and this is said instead of its
	// result.
	Perform bool
	// Times is how many requests get this answer: 0 means one, below 0 means all until
	// ClearAnswers.
	Times int
}

// ErrorAnswer is a standard JSON error with that HTTP status as its code.
func ErrorAnswer(status int, message string) Answer {
	return Answer{Status: status, Body: errorBody(status, message)}
}

// InteractionError is an error as the API tells it about interactions: with a string for a code
// (seen live).
func InteractionError(status int, message string) Answer {
	return Answer{Status: status, Body: interactionErrorBody(status, message)}
}

// LostAnswer carries a request out and says 503: given to AnswerNext with OpCreate it makes a job
// whose submitter does not know its name.
func LostAnswer() Answer {
	a := ErrorAnswer(http.StatusServiceUnavailable, "The service is currently unavailable.")
	a.Perform = true
	return a
}

// scripted is an Answer that waits for its request.
type scripted struct {
	op     Op
	name   string
	answer Answer
	left   int
}

// AnswerNext makes the API give these answers, in this order, to the next requests of that kind
// which concern the job of that name (as in SetState; a creation is matched by the new job's label
// alone, see Script). An empty name matches every request of the kind; OpList, OpWebhook and OpJWKS
// concern no job. Scripted answers come before the fault plan.
//
// Answers for a name come before answers for all. Those given by several calls queue up.
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

// serve wraps a handler with what a script or a fault says instead of it.
func (s *Sim) serve(op Op, about func(*http.Request) subject, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		of := about(r)
		s.countRequest(op)
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
		if a.Hang {
			select {
			case <-r.Context().Done():
			case <-s.ctx.Done():
			}
			panic(http.ErrAbortHandler) // net/http's way of breaking off
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
			panic(http.ErrAbortHandler)
		}
	}
}

func (s *Sim) scriptedAnswer(op Op, of subject) (Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := -1
	for i, sc := range s.answers {
		named := s.concerns(sc.name, of)
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
