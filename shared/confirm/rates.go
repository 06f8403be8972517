package confirm

import (
	"maps"
	"time"

	"golang.org/x/time/rate"
)

// The rates of look-ups for hints. Deliveries may share a token: Google caches identity tokens for
// up to an hour.
const (
	tokenBurst   = 30
	tokenEvery   = time.Second
	processBurst = 100
	processEvery = 100 * time.Millisecond
	// maxTokens bounds the remembered tokens. Only Gemini can make one.
	maxTokens = 1000
)

// rates limits the rate of look-ups, first that of each token, so that a captured token cannot use
// up the rate for all.
type rates struct {
	tokens  map[string]*rate.Limiter
	process *rate.Limiter
}

func newRates() rates {
	return rates{tokens: map[string]*rate.Limiter{}, process: rate.NewLimiter(rate.Every(processEvery), processBurst)}
}

// exceeded counts a look-up at now for a hint of a token, which may be empty, and returns "". If a
// limit is reached it returns which, and counts nothing for the process.
func (r *rates) exceeded(token string, now time.Time) (why string) {
	if token != "" && !r.of(token, now).AllowN(now, 1) {
		return TokenLimit
	}
	if !r.process.AllowN(now, 1) {
		return ProcessLimit
	}
	return ""
}

// of returns the limiter of a token. Tokens beyond maxTokens share one.
func (r *rates) of(token string, now time.Time) *rate.Limiter {
	if own, ok := r.tokens[token]; ok {
		return own
	}
	if len(r.tokens) >= maxTokens {
		maps.DeleteFunc(r.tokens, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= tokenBurst })
	}
	if len(r.tokens) >= maxTokens {
		token = ""
	}
	own, ok := r.tokens[token]
	if !ok {
		own = rate.NewLimiter(rate.Every(tokenEvery), tokenBurst)
		r.tokens[token] = own
	}
	return own
}
