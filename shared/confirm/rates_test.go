package confirm

import (
	"fmt"
	"testing"
	"time"
)

// spend makes look-ups for a token until a limit is reached, and returns their number and the
// limit.
func spend(r *rates, token string, now time.Time) (n int, why string) {
	for ; why == ""; n++ {
		why = r.exceeded(token, now)
	}
	return n - 1, why
}

// TestRates: the hints of one token may cause tokenBurst look-ups at once and then one a second,
// without affecting other tokens. All hints may cause processBurst, and then ten a second.
func TestRates(t *testing.T) {
	t.Parallel()
	r := newRates()
	wantSpent := func(token string, now time.Time, most int, limit string) {
		t.Helper()
		if n, why := spend(&r, token, now); n != most || why != limit {
			t.Errorf("%d look-ups for %q, then %q; want %d, then %q", n, token, why, most, limit)
		}
	}
	wantSpent("captured", start, tokenBurst, TokenLimit)
	for range 2000 {
		if why := r.exceeded("captured", start); why != TokenLimit {
			t.Fatal(why)
		}
	}
	wantSpent("captured", start.Add(time.Second), 1, TokenLimit)
	now := start.Add(time.Minute)
	wantSpent("captured", now, tokenBurst, TokenLimit)
	wantSpent("another", now, tokenBurst, TokenLimit)
	wantSpent("", now, processBurst-2*tokenBurst, ProcessLimit)
	wantSpent("a third", now, 0, ProcessLimit)
	wantSpent("", now.Add(time.Second), 10, ProcessLimit)
	wantSpent("", now.Add(time.Hour), processBurst, ProcessLimit)
}

// TestTokensForgotten: the number of remembered tokens is bounded; the others share one rate.
func TestTokensForgotten(t *testing.T) {
	t.Parallel()
	r := newRates()
	now := start
	for i := range 2 * maxTokens { // each is used up for half a minute
		r.of(fmt.Sprint(i), now).AllowN(now, tokenBurst)
	}
	if len(r.tokens) > maxTokens+1 {
		t.Errorf("%d tokens are remembered, want %d", len(r.tokens), maxTokens)
	}
	if r.of("new", now) != r.of("newer", now) {
		t.Error("a token beyond those that are remembered has a rate of its own")
	}
	if r.of("0", now) == r.of("new", now) {
		t.Error("a token that is remembered has no rate of its own")
	}
	if now = now.Add(time.Hour); r.of("new", now) == r.of("newer", now) || len(r.tokens) > 2 {
		t.Errorf("%d tokens are remembered after an hour, want 2", len(r.tokens))
	}
}

// TestTokensAtTheBound: the token that is one too many has a rate of its own where another's is whole
// again.
func TestTokensAtTheBound(t *testing.T) {
	t.Parallel()
	r := newRates()
	for i := range maxTokens {
		r.of(fmt.Sprint(i), start).AllowN(start, tokenBurst)
	}
	now := start.Add(time.Hour)
	if r.of("new", now) == r.of("", now) || len(r.tokens) != 2 {
		t.Errorf("%d tokens are remembered, want the new one and the shared one", len(r.tokens))
	}
}
