package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestReady: /health answers for the process alone, and /ready for the store; that is asked once a
// second at most, however many callers ask [G7].
func TestReady(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	var asked atomic.Int32
	e := expose(t, "127.0.0.1", Options{Ready: func(context.Context) error {
		if asked.Add(1); down.Load() {
			return ledger.ErrUnavailable
		}
		return nil
	}})
	for range 20 {
		e.call(call{method: "GET", path: "/ready", host: "evil.example", status: 200})
	}
	if n := asked.Load(); n > 3 {
		t.Errorf("20 callers asked the store %d times", n)
	}
	down.Store(true)
	e.server.readiness.mu.Lock()
	e.server.readiness.at = time.Time{} // a second later
	e.server.readiness.mu.Unlock()
	if head := e.call(call{method: "GET", path: "/ready", status: 503}); head.Get("Retry-After") == "" {
		t.Errorf("%v", head)
	}
	e.call(call{method: "GET", path: "/health", status: 200})
	found := e.server.unable(t.Context())
	if len(found) != 1 || !strings.HasPrefix(found[0].Words, "the ledger cannot be written") || !found[0].Unwritten {
		t.Errorf("G7: the console and status say %v", found)
	}
}

// TestHealthProof: /health answers a nonce with what only the run with the key can answer, and with
// nothing of the key [G7].
func TestHealthProof(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "the-key"} {
		s := &Server{options: Options{Key: key}}
		answer := httptest.NewRecorder()
		s.health(answer, httptest.NewRequest("GET", "/health?nonce=n-1", nil))
		var health struct{ Status, Proof string }
		if err := json.Unmarshal(answer.Body.Bytes(), &health); err != nil || health.Status != "ok" {
			t.Errorf("%s %v", answer.Body, err)
		}
		if Proves("the-key", "n-1", health.Proof) != (key != "") || strings.Contains(answer.Body.String(), "the-key") {
			t.Errorf("with the key %q: %s", key, answer.Body)
		}
		if Proves("the-key", "n-2", health.Proof) || Proves("another", "n-1", health.Proof) || Proves("the-key", "n-1", "") {
			t.Errorf("%s proves too much", answer.Body)
		}
	}
}

// TestReadyForASecond: an answer counts for a second, and not for one of a clock that went back.
func TestReadyForASecond(t *testing.T) {
	t.Parallel()
	asked, now := 0, time.Unix(1e9, 0)
	s := &Server{options: Options{
		Now: func() time.Time { return now }, Ready: func(context.Context) error { asked++; return nil },
	}}
	for _, step := range []struct {
		later time.Duration
		asked int
	}{{0, 1}, {readyFor - 1, 1}, {1, 2}, {-time.Hour, 3}} {
		now = now.Add(step.later)
		if err := s.canWrite(t.Context()); err != nil || asked != step.asked {
			t.Errorf("%v later: asked %d times, %v, want %d", step.later, asked, err, step.asked)
		}
	}
}

// TestWatchFile: a server whose file is gone says so within a second.
func TestWatchFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gone atomic.Bool
		why := errors.New("it was moved")
		s := &Server{options: Options{InPlace: func() error {
			if gone.Load() {
				return why
			}
			return nil
		}}}
		failed := make(chan error, 1)
		go s.watchFile(t.Context(), failed)
		time.Sleep(time.Minute)
		if len(failed) > 0 {
			t.Fatal(<-failed)
		}
		gone.Store(true)
		began := time.Now()
		if err := <-failed; !errors.Is(err, why) || time.Since(began) > watchEvery {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestServeEndsWithItsFile: Serve ends with an error once its file is gone.
func TestServeEndsWithItsFile(t *testing.T) {
	t.Parallel()
	why := errors.New("it was moved")
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1",
		Options{InPlace: func() error { return why }})
	if err := s.Serve(t.Context(), listener); !errors.Is(err, why) || !strings.Contains(err.Error(), "put it back") {
		t.Errorf("%v", err)
	}
}
