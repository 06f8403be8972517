package geminisim

import (
	"cmp"
	"context"
	"math"
	"net/http"
)

// Answer is an answer that a test sets for the API.
type Answer struct {
	Status int         // 0 means 200
	Header http.Header // in addition to Content-Type: application/json
	Body   []byte
	// Drop closes the connection in the middle of the answer. (If it were closed before, Go's HTTP
	// client would retry a GET.)
	Drop bool
	// Hang sends nothing until the caller or the simulator closes, and then closes the connection.
	Hang bool
	// Perform executes the request first, and sends this answer in place of its result.
	Perform bool
	// Times is how many requests get this answer: 0 means one, below 0 means all until
	// ClearAnswers.
	Times int
}

// ErrorAnswer returns a standard JSON error with that HTTP status as its code.
func ErrorAnswer(status int, message string) Answer {
	return Answer{Status: status, Body: errorBody(status, message)}
}

// InteractionError returns an error in the form of interactions, with a string code (seen live).
func InteractionError(status int, message string) Answer {
	return Answer{Status: status, Body: interactionErrorBody(status, message)}
}

// LostAnswer executes a request and answers 503. With AnswerNext and OpCreate it creates an
// operation whose submitter does not know its name.
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
// about the operation of that name. The name is as in SetState; a creation is matched by the new
// operation's label, see Script. An empty name matches every request of the kind; OpList, OpWebhook
// and OpJWKS are about no operation. Scripted answers take precedence over the fault plan.
//
// Answers for a name take precedence over answers for all. Several calls add to the queue.
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

// ClearAnswers removes the scripted answers that are left.
func (s *Sim) ClearAnswers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = nil
}

// serve wraps a handler with scripted and faulty answers.
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
			panic(http.ErrAbortHandler) // closes the connection
		}
		a.write(w)
		if a.Drop {
			_ = http.NewResponseController(w).Flush() // else nothing of the answer is sent
			panic(http.ErrAbortHandler)
		}
	}
}

// write sends the answer.
func (a Answer) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(cmp.Or(a.Status, http.StatusOK))
	_, _ = w.Write(a.Body) // the caller may have gone
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
