package simulation

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// An exchange is one request to Gemini, and what it answers.
type exchange struct {
	label string
	fates []fate
	// do answers a request that arrives. It is given the fate where that decides about the answer.
	do func(fate) reply
	// outside: it is disturbed more often than a look-up.
	outside bool
	// soon: where its caller is gone it arrives soon or never [G6].
	soon bool
}

// A reply is an answer of Gemini's: 200 where no status stands there.
type reply struct {
	status int
	header map[string]string
	body   []byte
}

// failed is the reply of an error that says nothing but its status.
func failed(status int) reply { return failedAs(status, "", "simulated") }

// failedAs is the reply of an error with a name and a message.
func failedAs(status int, canonical, message string) reply {
	return reply{status: status, body: fmt.Appendf(nil, `{"error":{"code":%d,"status":%q,"message":%q}}`,
		status, canonical, message)}
}

// exchange makes a request of a process, with the fates of that.
func (s *service) exchange(a *actor, r *http.Request, e exchange) (*http.Response, error) {
	var got reply
	ask := &call{
		label: func() string { return a.name + ": " + e.label }, fates: e.fates, unavailable: errNoAnswer, soon: e.soon,
		outside: e.outside, provoked: s.w.store.flaw.provokes(e.label),
		do: func() error { got = e.do(works); return nil },
	}
	ask.handle = func(f fate) bool {
		switch f {
		case missing, stale, busy, declined, lacking:
			got = e.do(f)
		case told:
			got = e.do(works)
			a.process.stopping = true
			a.process.tell()
		default:
			return false
		}
		s.w.gate.reply(ask, nil)
		return true
	}
	if err := a.send(r.Context(), ask); err != nil {
		return nil, err
	}
	return got.response(r), nil
}

// response is the reply as net/http has it.
func (r reply) response(to *http.Request) *http.Response {
	answer := &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: to,
		Body: io.NopCloser(bytes.NewReader(r.body)),
	}
	if r.status != 0 {
		answer.StatusCode = r.status
	}
	answer.Header.Set("Content-Type", "application/json")
	for name, value := range r.header {
		answer.Header.Set(name, value)
	}
	return answer
}
