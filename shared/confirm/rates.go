package confirm

import (
	"maps"
	"time"

	"golang.org/x/time/rate"
)

// The rates of look-ups that hints may cause. A token is one delivery's, or that of many: Google
// caches identity tokens for up to an hour.
const (
	tokenBurst   = 30
	tokenEvery   = time.Second
	processBurst = 100
	processEvery = 100 * time.Millisecond
	// maxTokens bounds what is remembered of them. Nobody but Gemini can make one.
	maxTokens = 1000
)

// rates bounds how many look-ups hints cause over time: those of one token first, so that whoever
// captured one cannot use up what there is for all.
type rates struct {
	tokens  map[string]*rate.Limiter
	process *rate.Limiter
}

func newRates() rates {
	return rates{tokens: map[string]*rate.Limiter{}, process: rate.NewLimiter(rate.Every(processEvery), processBurst)}
}

// exceeded counts a look-up at now for a hint of a token, which may be empty, and returns "". Where
// that is one too many it counts nothing for the process, and returns why.
func (r *rates) exceeded(token string, now time.Time) (why string) {
	if token != "" && !r.of(token, now).AllowN(now, 1) {
		return TokenLimit
	}
	if !r.process.AllowN(now, 1) {
		return ProcessLimit
	}
	return ""
}

// of returns the limiter of a token. Tokens beyond those that are remembered share one.
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
