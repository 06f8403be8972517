package reconcile

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/opledger/opledger/shared/gemini/lookup"
)

func limited(after time.Duration) error {
	return &lookup.LookupError{Reason: lookup.RateLimited, RetryAfter: after}
}

// waits returns how long n concurrent callers wait until each request is allowed.
func waits(t *testing.T, p *pacer, n int) time.Duration {
	t.Helper()
	began := time.Now()
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			if err := p.wait(t.Context()); err != nil {
				t.Errorf("R6: %v", err)
			}
		})
	}
	group.Wait()
	return time.Since(began)
}

// TestPaceRetryAfter: after a Retry-After no request is made for that long, whatever the status
// was. A shorter one that arrives later does not end the pause [R6].
func TestPaceRetryAfter(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"R6: 429": limited(30 * time.Second),
		"R6: 503": &lookup.LookupError{Reason: lookup.Unavailable, RetryAfter: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPacer()
				p.note(err)
				p.note(limited(time.Second))
				if waited := waits(t, p, concurrency); waited < 30*time.Second || waited > 33*time.Second {
					t.Errorf("R6: waited %v, want 30s", waited)
				}
			})
		})
	}
}

// TestPaceBacksOff: a 429 without Retry-After pauses for 2 s and halves the rate, once for all
// requests that were in flight. Answers raise it again [R6].
func TestPaceBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer()
		at := func(what string, want rate.Limit) {
			t.Helper()
			if got := p.limiter.Limit(); got != want {
				t.Errorf("R6: %s the rate is %v/s, want %v", what, got, want)
			}
		}
		for range concurrency {
			p.note(limited(0))
		}
		at("after one round of complaints", firstRate/2)
		if waited := waits(t, p, 1); waited < defaultPause || waited > defaultPause+time.Second {
			t.Errorf("R6: waited %v, want %v", waited, defaultPause)
		}
		p.note(nil)
		at("after an answer", firstRate/2+steadyRaise/(firstRate/2))
		for range 10 {
			p.note(limited(0))
			waits(t, p, 1)
		}
		at("however many complaints there are", leastRate)
		for range 3000 {
			p.note(nil)
		}
		at("however many answers there are", greatestRate)
		for _, other := range []error{
			&lookup.LookupError{Reason: lookup.NotFound}, &lookup.LookupError{Reason: lookup.Unavailable}, errors.New("other"),
		} {
			p.note(other)
		}
		at("whatever else went wrong", greatestRate)
	})
}

// TestPaceRaises: until the first 429 each answer raises the rate by 1. From then on it rises by 10 each second, so
// that a limit of Gemini's is not met again and again [R6].
func TestPaceRaises(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer()
		for range 80 {
			p.note(nil)
		}
		if got := p.limiter.Limit(); got != 100 {
			t.Errorf("R6: the rate is %v/s after 80 answers, want 100", got)
		}
		p.note(limited(0))
		for range 50 { // a second's answers
			p.note(nil)
		}
		if got := p.limiter.Limit(); got < 58 || got > 60 {
			t.Errorf("R6: the rate is %v/s a second after it was halved to 50, want 59", got)
		}
	})
}

// TestPaceAtOnce: as many look-ups run at once as begin, at the rate, while one runs: between 8 and 64. A 429 halves
// that [R6].
func TestPaceAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer()
		at := func(what string, want int) {
			t.Helper()
			if got := p.atOnce(); got != want {
				t.Errorf("R6: %s %d run at once, want %d", what, got, want)
			}
		}
		at("before the first answer", concurrency)
		p.took(time.Second)
		at("at 20/s of 1 s each", 20)
		p.note(limited(0))
		at("after a 429", 10)
		p.note(limited(0)) // of the same pause
		at("after a second one", 10)
		for range 100 {
			p.took(100 * time.Millisecond)
		}
		at("at 10/s of 100 ms each", concurrency)
		for range 100 {
			p.took(time.Minute)
		}
		at("however slow Gemini is", mostAtOnce)
	})
}

// TestWindow: so many run at once, one more begins when one ends, and the end of a pass ends the wait.
func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		size := 2
		w := newWindow(func() int { return size })
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errNoTime)
		defer cancel()
		began := time.Now()
		enter := func(want error, after time.Duration) {
			t.Helper()
			if err := w.enter(ctx); !errors.Is(err, want) || time.Since(began) != after {
				t.Errorf("R6: %v after %v, want %v after %v", err, time.Since(began), want, after)
			}
		}
		enter(nil, 0)
		enter(nil, 0)
		time.AfterFunc(time.Second, w.leave)
		enter(nil, time.Second)
		size = 1
		time.AfterFunc(time.Second, w.leave) // one too many still runs
		time.AfterFunc(2*time.Second, w.leave)
		enter(nil, 3*time.Second)
		enter(errNoTime, time.Minute)
		w.leave()
		enter(errNoTime, time.Minute) // there is room, and no time
	})
}

// TestPaceRate: requests are made no faster than the rate, beside the first ones.
func TestPaceRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const asked = concurrency + 10*firstRate
		if waited := waits(t, newPacer(), asked); waited != 10*time.Second {
			t.Errorf("R6: %d asked within %v, want 10s", asked, waited)
		}
	})
}

// TestPaceNoTime: a caller that would wait for longer than the pass lasts gets an error at once.
func TestPaceNoTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := newPacer()
		p.note(limited(time.Hour))
		began := time.Now()
		for range 100 {
			if err := p.wait(ctx); !errors.Is(err, errNoTime) || time.Since(began) != 0 {
				t.Fatalf("R6: %v after %v", err, time.Since(began))
			}
		}
		p = newPacer()
		p.limiter.SetLimit(0.001)
		for range concurrency {
			if err := p.wait(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.wait(ctx); !errors.Is(err, errNoTime) || time.Since(began) != 0 {
			t.Errorf("R6: %v after %v", err, time.Since(began))
		}
	})
}

// TestPaceCancelled: the end of a pass ends every wait.
func TestPaceCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		p := newPacer()
		p.note(limited(time.Hour))
		gone := errors.New("the caller went away")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		began := time.Now()
		if err := p.wait(ctx); !errors.Is(err, gone) || time.Since(began) != time.Second {
			t.Errorf("R6: %v after %v", err, time.Since(began))
		}
		for about, p := range map[string]*pacer{"a pause": p, "no pause": newPacer()} {
			if err := p.wait(ctx); !errors.Is(err, gone) {
				t.Errorf("R6: %s: %v", about, err)
			}
		}
	})
}
