package reconcile

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/opledger/opledger/shared/gemini/lookup"
)

// How fast Gemini is asked, in requests per second. Nothing is documented about how much it takes, so the rate finds its own
// level: every answer raises it a little, every 429 halves it.
const (
	firstRate    = 20
	leastRate    = 1
	greatestRate = 100
	raise        = 0.5
	// defaultPause is how long Gemini is left alone after a 429 that does not say how long.
	defaultPause = 2 * time.Second
)

// errNoTime says that the pass ends before Gemini may be asked again.
var errNoTime = errors.New("the pass ends before Gemini may be asked again")

// A pacer decides when Gemini may be asked, for everybody in one pass [R6].
type pacer struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	until   time.Time // nobody asks before
}

func newPacer() *pacer { return &pacer{limiter: rate.NewLimiter(firstRate, concurrency)} }

// wait returns nil when the caller may ask. errNoTime: not within this pass; or why the context ended.
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

// waitOut waits for the end of a pause. It takes nobody's turn: where the pause outlasts the pass, all learn so at once.
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

// answered notes that Gemini answered and did not complain.
func (p *pacer) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limiter.SetLimit(min(p.limiter.Limit()+raise, greatestRate))
}

// slowDown notes a 429, or a Retry-After: after is how long Gemini asks to be left alone, 0 where it does not say. Complaints
// about requests that were made before the pause began count once.
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

// note is answered or slowDown, as the error of a request says.
func (p *pacer) note(err error) {
	var failed *lookup.LookupError
	switch {
	case err == nil:
		p.answered()
	case errors.As(err, &failed) && (failed.Reason == lookup.RateLimited || failed.RetryAfter > 0):
		p.slowDown(failed.RetryAfter)
	}
}
