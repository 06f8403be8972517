package trust

import (
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/go-jose/go-jose/v4/json"

	"github.com/opledger/opledger/shared/diag"
)

// The bounds on the names of claims that are kept and logged.
const (
	maxStrangeClaims = 64
	maxClaimBytes    = 64
)

// undocumentedClaims logs each name of an undocumented claim once, never a value. It shows when
// Gemini begins to bind the body or to describe the event.
type undocumentedClaims struct {
	log  *slog.Logger
	mu   sync.Mutex
	seen map[string]bool
}

// note is called with the claims of a verified token, so that forgeries cannot fill the log.
func (s *undocumentedClaims) note(claims map[string]json.RawMessage) {
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

// first reports whether name is new and can still be remembered.
func (s *undocumentedClaims) first(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[name] || len(s.seen) >= maxStrangeClaims {
		return false
	}
	s.seen[name] = true
	return true
}
