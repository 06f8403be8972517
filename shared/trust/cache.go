package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Caching says how long what was fetched is used, and how often it is fetched. A zero field means the default.
type Caching struct {
	// TTL is how long what was fetched is used without asking again, and so how long a revoked secret or key still
	// works.
	TTL time.Duration
	// Gap is the least time between two fetches, whatever they are for: it bounds what a forger can cost.
	Gap time.Duration
	// MaxStale is how long past TTL what was fetched is used while it cannot be fetched again.
	MaxStale time.Duration
}

// or fills the zero fields of c from defaults.
func (c Caching) or(defaults Caching) Caching {
	return Caching{
		TTL:      cmp.Or(c.TTL, defaults.TTL),
		Gap:      cmp.Or(c.Gap, defaults.Gap),
		MaxStale: cmp.Or(c.MaxStale, defaults.MaxStale),
	}
}

// fetchTimeout bounds one fetch: a delivery should be answered within seconds.
const fetchTimeout = 5 * time.Second

var errTooSoon = errors.New("it was asked for moments ago")

// A cache holds a value that others can change. However many callers ask, one fetch runs at a time, and not two within
// a gap. A value is never changed once it is here, so that callers may tell a newer one by its address.
type cache[T any] struct {
	// fetch returns a value, an error, or both: a value that can be used, and what is wrong beside it. Such a value
	// replaces another but is not taken as the first. It must end when its context does.
	fetch func(context.Context) (*T, error)
	// report is told what a usable value hides from the callers, once per change; nil when all is well again.
	report func(error)
	Caching

	mu       sync.Mutex
	value    *T
	asOf     time.Time // when the fetch of value began
	tried    time.Time // when the last fetch began
	err      error     // of the last fetch
	reported string
	flight   chan struct{} // closed when the fetch that is running ends; nil while none is
}

// get returns the value, which it first fetches again if it is older than its time to live. If that fails, or is not
// yet allowed, it returns the old one for a while, and then an error that wraps ErrUnavailable and the cause.
func (c *cache[T]) get(ctx context.Context, now time.Time) (*T, error) {
	value, asOf, _ := c.last()
	if value != nil && now.Sub(asOf) < c.TTL {
		return value, nil
	}
	usable := func() bool { return value != nil && now.Sub(asOf) < c.TTL+c.MaxStale }
	c.refresh(ctx, now, !usable())
	value, asOf, err := c.last()
	if usable() {
		return value, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, cmp.Or(err, context.Cause(ctx), errTooSoon))
}

// renew returns a value other than seen, if there is one or a fetch brings one. Otherwise, also where no fetch is
// allowed yet, it returns seen.
func (c *cache[T]) renew(ctx context.Context, now time.Time, seen *T) *T {
	value, _, _ := c.last()
	if value == seen {
		c.refresh(ctx, now, true)
		value, _, _ = c.last()
	}
	return value
}

func (c *cache[T]) last() (value *T, asOf time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, c.asOf, c.err
}

// refresh fetches, if the gap allows it, and returns when that has ended or ctx has. If a fetch is running already it
// waits for that one, or returns at once unless join is set.
func (c *cache[T]) refresh(ctx context.Context, now time.Time, join bool) {
	c.mu.Lock()
	flight := c.flight
	if flight == nil {
		if !c.tried.IsZero() && now.Sub(c.tried) < c.Gap {
			c.mu.Unlock()
			return
		}
		c.tried = now
		flight, join = make(chan struct{}), true
		c.flight = flight
		go c.fly(context.WithoutCancel(ctx), now, flight)
	}
	c.mu.Unlock()
	if !join {
		return
	}
	select {
	case <-flight:
	case <-ctx.Done():
	}
}

// fly fetches. What it brings counts as of its beginning.
func (c *cache[T]) fly(ctx context.Context, began time.Time, flight chan struct{}) {
	defer close(flight)
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	value, err := c.fetch(ctx)
	if c.land(value, err, began) {
		c.report(err)
	}
}

// land keeps what a fetch brought, and says whether it is to be reported.
func (c *cache[T]) land(value *T, err error, began time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flight, c.err = nil, err
	if value != nil && (err == nil || c.value != nil) {
		c.value, c.asOf = value, began
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if c.value == nil || text == c.reported {
		return false
	}
	c.reported = text
	return true
}
