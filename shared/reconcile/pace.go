package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/opledger/opledger/shared/gemini/lookup"
)

// The rate of requests to Gemini, per second. Gemini documents no limit, so the rate adapts: every
// answer raises it by 0.5, every 429 halves it.
const (
	firstRate    = 20
	leastRate    = 1
	greatestRate = 100
	raise        = 0.5
	// defaultPause is the pause after a 429 without Retry-After.
	defaultPause = 2 * time.Second
)

// errNoTime says that the pass ends before the next request to Gemini is allowed.
var errNoTime = errors.New("the pass ends before Gemini may be asked again")

// A pacer decides when the next request to Gemini is allowed, for all requests of one pass [R6].
type pacer struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	until   time.Time // no request is allowed before
}

func newPacer() *pacer { return &pacer{limiter: rate.NewLimiter(firstRate, concurrency)} }

// wait returns nil when a request is allowed. It returns errNoTime where that is not within this
// pass, or why the context ended.
func (p *pacer) wait(ctx context.Context) error {
	for {
		if err := p.waitOut(ctx); err != nil {
			return err
		}
		if err := p.limiter.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return errNoTime
		}
		if p.pause() <= 0 { // else it began while this caller waited its turn
			return nil
		}
	}
}

// waitOut waits for the end of a pause. A pause that outlasts the pass is errNoTime at once.
func (p *pacer) waitOut(ctx context.Context) error {
	pause := p.pause()
	if pause <= 0 {
		return nil
	}
	if deadline, bounded := ctx.Deadline(); bounded && time.Until(deadline) < pause {
		return errNoTime
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *pacer) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Until(p.until)
}

// answered records an answer without a 429 or a Retry-After.
func (p *pacer) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limiter.SetLimit(min(p.limiter.Limit()+raise, greatestRate))
}

// slowDown records a 429 or a Retry-After. after is the wait that Gemini asks for; 0: none. Several
// about requests that were made before a pause count once.
func (p *pacer) slowDown(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if after <= 0 {
		after = defaultPause
	}
	if time.Until(p.until) <= 0 {
		p.limiter.SetLimit(max(p.limiter.Limit()/2, leastRate))
	}
	if until := time.Now().Add(after); until.After(p.until) {
		p.until = until
	}
}

// note calls answered or slowDown, by the error of a request.
func (p *pacer) note(err error) {
	var failed *lookup.LookupError
	switch {
	case err == nil:
		p.answered()
	case errors.As(err, &failed) && (failed.Reason == lookup.RateLimited || failed.RetryAfter > 0):
		p.slowDown(failed.RetryAfter)
	}
}
