package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
)

// health answers 200 as long as the process answers at all, with its version. To a nonce it proves which run it is.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	answer := map[string]string{"status": "ok"}
	if s.options.Version != "" {
		answer["version"] = s.options.Version
	}
	if nonce := r.URL.Query().Get("nonce"); nonce != "" && s.options.Key != "" {
		answer["proof"] = proof(s.options.Key, nonce)
	}
	httpfunc.WriteJSON(w, http.StatusOK, answer)
}

// Proves reports whether the server with that key answered a nonce of the caller's with this proof.
func Proves(key, nonce, answer string) bool { return sameToken(proof(key, nonce), answer) }

// proof shows that the server has the key, and reveals nothing of it.
func proof(key, nonce string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = fmt.Fprint(mac, "opledger serve ", nonce) // a hash takes everything
	return hex.EncodeToString(mac.Sum(nil))
}

// A readiness is the last answer of /ready.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// readyFor is how long an answer of /ready counts: anyone may ask, and each asks the store.
const readyFor = time.Second

// ready answers 200 if the store can be written.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	httpfunc.WriteResult(w, http.StatusOK, map[string]string{"status": "ok"}, s.canWrite(r.Context()))
}

func (s *Server) canWrite(ctx context.Context) error {
	last := &s.readiness
	last.mu.Lock()
	defer last.mu.Unlock()
	now := s.options.Now()
	if age := now.Sub(last.at); !last.at.IsZero() && age >= 0 && age < readyFor {
		return last.err
	}
	ctx = context.WithoutCancel(ctx) // a caller that leaves decides nothing for the next
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if s.options.Ready != nil {
		last.err = s.options.Ready(ctx)
	} else {
		_, last.err = s.Ledger.Now(ctx)
	}
	last.at = s.options.Now()
	return last.err
}

const (
	// readyWithin bounds what /ready asks of the store.
	readyWithin = 5 * time.Second
	// watchEvery is how often the store's file is looked for. Each commit looks for it, too.
	watchEvery = time.Second
)

// watchFile sends an error once the store's file is gone.
func (s *Server) watchFile(ctx context.Context, failed chan<- error) {
	if s.options.InPlace == nil {
		return
	}
	tick := time.Tick(watchEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if err := s.options.InPlace(); err != nil {
			failed <- fmt.Errorf("%w; put it back where it was, beside its -wal, and then start serve again; "+
				"start nothing there before", err)
			return
		}
	}
}
