package trust

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/go-jose/go-jose/v4/json"

	"github.com/opledger/opledger/shared/diag"
)

// The bounds on what is kept and logged of claims' names.
const (
	maxStrangeClaims = 64
	maxClaimBytes    = 64
)

// strangeClaims logs the names of claims that are not registered, each once: if Gemini begins to bind the body, or to
// say more about the event, this is where it shows. It never logs a value.
type strangeClaims struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[string]bool
}

// note is given the claims of a token whose signature fits, so that strangers cannot fill the log.
func (s *strangeClaims) note(claims map[string]json.RawMessage) {
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		switch name {
		case "aud", "iss", "exp", "nbf", "iat", "sub", "jti":
			continue
		}
		if name = diag.Cut(name, maxClaimBytes); s.first(name) {
			s.log.Info("a webhook token has an undocumented claim", "event", "auth", "outcome", "strange-claim", "claim", name)
		}
	}
}

// first reports whether name was never seen and there is still room to remember it.
func (s *strangeClaims) first(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[name] || len(s.seen) >= maxStrangeClaims {
		return false
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[name] = true
	return true
}
