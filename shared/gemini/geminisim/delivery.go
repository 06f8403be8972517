package geminisim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Retries: for 24 hours with exponential back-off (documented, without a schedule; these steps are
// the simulator's own). All before Config.Speed.
const (
	retryFor   = 24 * time.Hour
	retryFirst = 10 * time.Second
	retryMost  = time.Hour
	maxReply   = 1 << 20 // bytes of a receiver's answer that are kept
)

// message is one delivery: the same id and body on every attempt.
type message struct {
	id        string
	to        target
	body      []byte
	claims    map[string]any // of a dynamic delivery, on top of the usual ones
	after     time.Duration  // simulated, until the first attempt
	copy      int            // 0, or which repeat of the same delivery it is
	once      bool           // no retries
	completes *operation     // the operation whose end it reports, or nil
	then      *message       // sent when this one is over, or nil
}

// post starts a delivery. The caller must hold s.mu.
func (s *Sim) post(m *message) {
	if s.closed {
		return
	}
	s.countLocked(func(st *Stats) { st.Open++ })
	if m.completes != nil {
		m.completes.open++
	}
	s.spawn(func() { s.deliver(m) })
}

// outcome is the state of a delivery after an attempt, or at the end.
type outcome int

const (
	again    outcome = iota // not accepted
	accepted                // answered 2xx
	gaveUp                  // no target, or no retries left
)

// deliver attempts a delivery until it is over. One that Close interrupts stays open in the
// counters.
func (s *Sim) deliver(m *message) {
	out := s.attempts(m)
	if out == again {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.then != nil {
		s.post(m.then)
	}
	if b := m.completes; b != nil {
		b.open--
		b.accepted = b.accepted || out == accepted
	}
	s.countLocked(func(st *Stats) {
		st.Open--
		if out == gaveUp {
			st.GaveUp++
		}
	})
}

// attempts returns again only if Close interrupted it.
func (s *Sim) attempts(m *message) outcome {
	if !s.sleep(s.ctx, m.after) {
		return again
	}
	jitter := s.rand("retry", m.id, strconv.Itoa(m.copy))
	began, pause := s.elapsed(), retryFirst
	for n := 1; ; n++ {
		if out := s.attempt(m, n); out != again {
			return out
		}
		wait := share(0.8+0.4*jitter.Float64(), pause)
		if m.once || s.elapsed()-began+wait > retryFor {
			return gaveUp
		}
		if !s.sleep(s.ctx, wait) {
			return again
		}
		pause = min(2*pause, retryMost)
	}
}

// attempt sends a message once.
func (s *Sim) attempt(m *message, n int) outcome {
	uri, secrets, open := s.address(m.to)
	if !open {
		return gaveUp
	}
	road := s.fate(m.id, fmt.Sprint(m.copy, n))
	s.count(func(st *Stats) {
		st.Deliveries++
		if n > 1 {
			st.Retries++
		}
		if road == refused || road == unreachable {
			st.WindowRefused++
		}
	})
	if road == refused || road == unreachable {
		return again
	}

	header := s.header(m, uri, secrets)
	// Close waits for the answer of an attempt in flight.
	status, _, err := s.send(context.WithoutCancel(s.ctx), uri, header, m.body)

	s.mu.Lock()
	defer s.mu.Unlock()
	if m.completes != nil && err == nil {
		m.completes.reached++
	}
	if road == answerLost && err == nil {
		s.countLocked(func(st *Stats) { st.AnswersLost++ })
		return again
	}
	if err != nil || status < 200 || status > 299 {
		return again
	}
	s.countLocked(func(st *Stats) { st.Accepted++ })
	return accepted
}

// address returns the target and the secrets to sign with, none for a dynamic delivery. open is
// false if nothing may be sent there.
func (s *Sim) address(t target) (uri string, secrets []string, open bool) {
	if t.hook == nil {
		return t.uri, nil, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.hook.uri, t.hook.valid(s.cfg.Now()), !t.hook.deleted && t.hook.state == WebhookEnabled
}

// header signs one attempt.
func (s *Sim) header(m *message, uri string, secrets []string) http.Header {
	now := s.cfg.Now()
	if m.to.hook == nil {
		return headers(m.id, now, s.token(uri, m.body, now, m.claims))
	}
	signature, err := signAll(secrets, m.id, unix(now), m.body)
	if err != nil {
		panic(err) // the secrets are of the simulator's own making
	}
	return headers(m.id, now, signature)
}

// headers are those of a delivery.
func headers(id string, at time.Time, signature string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, unix(at))
	h.Set(HeaderSignature, signature)
	return h
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// send makes one POST and returns the receiver's answer.
func (s *Sim) send(ctx context.Context, uri string, header http.Header, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, max(s.real(attemptTimeout), minAttemptTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, uri, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("geminisim: delivery to %s: %w", uri, err)
	}
	req.Header = header
	resp, err := s.client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("geminisim: delivery to %s: %w", uri, err)
	}
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, nil, fmt.Errorf("geminisim: answer of %s: %w", uri, err)
	}
	return resp.StatusCode, reply, nil
}
