package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Caching says how long a fetched value is used, and how often it is fetched. A zero field means
// the default.
type Caching struct {
	// TTL is how long a value is used before it is fetched again, and so how long a revoked secret or
	// key still works.
	TTL time.Duration
	// Gap is the least time between two fetches. It bounds the cost of forgeries.
	Gap time.Duration
	// MaxStale is how long past TTL a value is used while it cannot be fetched.
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

// fetchTimeout bounds one fetch, because a delivery should be answered within seconds.
const fetchTimeout = 5 * time.Second

var errTooSoon = errors.New("it was fetched moments ago, and is not fetched again yet")

// A cache holds a value that changes elsewhere. However many callers ask for it, one fetch runs at
// a time, and no two start within the gap. A value is never modified, so that callers can tell a
// newer one by its address.
type cache[T any] struct {
	// fetch returns a value, an error, or both: a usable value and what is wrong with the rest. Such a
	// value replaces another but is not accepted as the first. fetch must end when its context does.
	fetch func(context.Context) (*T, error)
	// report is called with the error that a usable value hides from callers, once per change, and
	// with nil when the error is over.
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

// get returns the value. If that is older than its time to live, get fetches it first. If the fetch
// fails, or the gap forbids it, get returns the old value until MaxStale, and then an error that
// wraps ErrUnavailable and the cause.
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

// renew returns a newer value than seen, if there is one or a fetch returns one. Otherwise, or
// where the gap forbids a fetch, it returns seen.
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

// refresh fetches, if the gap allows it, and returns when the fetch or ctx has ended. If a fetch is
// running, it waits for that one if join is set, and otherwise returns at once.
func (c *cache[T]) refresh(ctx context.Context, now time.Time, join bool) {
	c.mu.Lock()
	flight := c.flight
	if flight == nil {
		if now.Sub(c.tried) < c.Gap {
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

// fly fetches. The value counts as of the fetch's beginning.
func (c *cache[T]) fly(ctx context.Context, began time.Time, flight chan struct{}) {
	defer close(flight)
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	value, err := c.fetch(ctx)
	if c.land(value, err, began) {
		c.report(err)
	}
}

// land keeps the result of a fetch, and returns whether to report it.
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
