package reconcile

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/googleapis/gax-go/v2"
	"golang.org/x/time/rate"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// The rate of requests to Gemini, per second. Gemini documents no limit, so the rate adapts. Every answer
// raises it by 1: from 20 to 200 in 3 s. A 429 halves it; from the first on it rises by 10 each second at most.
const (
	firstRate    = 20
	leastRate    = 1
	greatestRate = 200
	raise        = 1
	steadyRaise  = 10
	// mostAtOnce bounds the look-ups at once. At 300 ms each, 64 are enough for 200 per second.
	mostAtOnce = 64
	// newest is the part of the mean time of a look-up that the last one has.
	newest = 0.125
	// defaultPause is the pause after a 429 without Retry-After.
	defaultPause = 2 * time.Second
)

// errNoTime says that the pass ends before the next request to Gemini is allowed.
var errNoTime = errors.New("the pass ends before Gemini may be asked again")

// A pacer decides when the next request to Gemini is allowed, for all requests of one pass, and how many
// look-ups run at once [R6].
type pacer struct {
	limiter *rate.Limiter
	mu      sync.Mutex
	until   time.Time     // no request is allowed before
	slowed  bool          // there was a 429, or a Retry-After
	mean    time.Duration // of a look-up, its waits among them; 0: none has ended
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
	if gax.Sleep(ctx, pause) != nil {
		return context.Cause(ctx)
	}
	return nil
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
	more := rate.Limit(raise)
	if p.slowed {
		more = min(raise, steadyRaise/p.limiter.Limit())
	}
	p.limiter.SetLimit(min(p.limiter.Limit()+more, greatestRate))
}

// took records how long a look-up took since Gemini was allowed to be asked.
func (p *pacer) took(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mean == 0 {
		p.mean = d
	}
	p.mean += time.Duration(newest * float64(d-p.mean))
}

// atOnce is how many look-ups may run at once: as many as begin, at the present rate, while one runs. So
// it grows with Gemini's latency, and a 429 halves it. It is 8 at least: answers from Gemini's list wait
// for the ledger alone.
func (p *pacer) atOnce() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	running := math.Ceil(float64(p.limiter.Limit()) * p.mean.Seconds())
	return int(min(max(running, concurrency), mostAtOnce))
}

// slowDown records a 429 or a Retry-After. after is the wait that Gemini asks for; 0: none. Several
// about requests that were made before a pause count once, as long as they end within its length and the mean
// time of a look-up.
func (p *pacer) slowDown(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if after <= 0 {
		after = defaultPause
	}
	p.slowed = true
	if time.Since(p.until) >= p.mean {
		p.limiter.SetLimit(max(p.limiter.Limit()/2, leastRate))
	}
	p.until = operation.Later(p.until, time.Now().Add(after))
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
