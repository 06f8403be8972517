package trust

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errDown  = errors.New("down")
	errSpoil = errors.New("one of them is spoilt")
)

// A fetched is the next result of a scripted fetch, after a delay.
type fetched struct {
	value string
	err   error
	takes time.Duration
}

// A probe is a cache whose fetches are scripted and counted.
type probe struct {
	*cache[string]
	*testing.T
	next    fetched
	fetches int
	reports []string
}

// inBubble runs a test in a synctest bubble. TTL, gap and staleness are 5 minutes, 30 s and an
// hour.
func inBubble(t *testing.T, test func(p *probe)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &probe{T: t}
		p.cache = &cache[string]{
			Caching: Caching{TTL: 5 * time.Minute, Gap: 30 * time.Second, MaxStale: time.Hour},
			fetch: func(ctx context.Context) (*string, error) {
				p.fetches++
				answer := p.next
				select {
				case <-time.After(answer.takes):
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
				if answer.value == "" {
					return nil, answer.err
				}
				return &answer.value, answer.err
			},
			report: func(err error) { p.reports = append(p.reports, fmt.Sprint(err)) },
		}
		test(p)
	})
}

// expect lets a while pass, gets the value, and compares it and the number of fetches so far.
func (p *probe) expect(after time.Duration, value string, fetches int) {
	p.Helper()
	time.Sleep(after)
	got, err := p.get(p.Context(), time.Now())
	switch {
	case value == "" && !errors.Is(err, ErrUnavailable):
		p.Errorf("got %v, want unavailable", err)
	case value != "" && (err != nil || *got != value):
		p.Errorf("got %v, %v, want %q", got, err, value)
	}
	if p.fetches != fetches {
		p.Errorf("%d fetches, want %d", p.fetches, fetches)
	}
}

func TestCacheAges(t *testing.T) {
	inBubble(t, func(p *probe) {
		p.next.value = "a"
		p.expect(0, "a", 1)
		p.next.value = "b"
		p.expect(5*time.Minute-1, "a", 1)
		p.expect(1, "b", 2)
		p.next = fetched{err: errDown}
		p.expect(5*time.Minute, "b", 3)
		p.expect(30*time.Second-1, "b", 3) // the gap
		p.expect(1, "b", 4)
		p.expect(time.Hour-30*time.Second-1, "b", 5)
		p.expect(1, "", 5)
		p.expect(30*time.Second, "", 6)
		p.next.value, p.next.err = "c", nil
		p.expect(time.Second, "", 6)
		p.expect(29*time.Second, "c", 7)
		if want := []string{"down", "<nil>"}; !slices.Equal(p.reports, want) {
			p.Errorf("reported %q, want %q: once per change", p.reports, want)
		}
	})
}

func TestCacheHasNothing(t *testing.T) {
	inBubble(t, func(p *probe) {
		p.next.err = errDown
		p.expect(0, "", 1)
		if _, err := p.get(p.Context(), time.Now()); !errors.Is(err, errDown) {
			p.Errorf("got %v, want the cause, also within the gap", err)
		}
		p.next = fetched{value: "a", err: errSpoil}
		p.expect(30*time.Second, "", 2) // what is spoilt is not taken as the first
		if p.reports != nil {
			p.Errorf("reported %q, which was returned already", p.reports)
		}
		p.next.err = nil
		p.expect(30*time.Second, "a", 3)
		p.next = fetched{value: "b", err: errSpoil}
		p.expect(5*time.Minute, "b", 4)
		p.expect(5*time.Minute, "b", 5)
		if len(p.reports) != 1 || p.reports[0] != errSpoil.Error() {
			p.Errorf("reported %q", p.reports)
		}
	})
}

// TestCacheFliesOnce: a caller that arrives while a fetch runs waits for it. One that arrives
// within the gap gets the old value.
func TestCacheFliesOnce(t *testing.T) {
	inBubble(t, func(p *probe) {
		p.next = fetched{value: "a", takes: time.Second}
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				if value, err := p.get(p.Context(), time.Now()); err != nil || *value != "a" {
					p.Errorf("%v %v", value, err)
				}
			})
		}
		group.Wait()
		time.Sleep(30 * time.Second)
		seen, err := p.get(p.Context(), time.Now())
		if err != nil {
			p.Fatal(err)
		}
		p.next.value = "b"
		for range 100 {
			group.Go(func() {
				if value := p.renew(p.Context(), time.Now(), seen); *value != "b" {
					p.Errorf("renewed to %q", *value)
				}
			})
		}
		group.Wait()
		p.next.value = "c"
		newer, err := p.get(p.Context(), time.Now())
		if err != nil || p.renew(p.Context(), time.Now(), newer) != newer {
			p.Errorf("renewed within the gap, or %v", err)
		}
		time.Sleep(30 * time.Second)
		if value := p.renew(p.Context(), time.Now(), seen); *value != "b" {
			p.Errorf("got %q, although something newer than seen was there", *value)
		}
		if p.fetches != 2 {
			p.Errorf("%d fetches, want 2", p.fetches)
		}
	})
}

// TestCacheOutlivesItsCaller: a caller that disconnects does not end the fetch for others. A fetch
// that hangs ends at its time-out.
func TestCacheOutlivesItsCaller(t *testing.T) {
	inBubble(t, func(p *probe) {
		p.next = fetched{value: "a", takes: time.Second}
		ctx, cancel := context.WithTimeout(p.Context(), time.Millisecond)
		defer cancel()
		if _, err := p.get(ctx, time.Now()); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			p.Errorf("got %v", err)
		}
		p.expect(time.Second, "a", 1)

		p.next.takes = 24 * time.Hour
		time.Sleep(5 * time.Minute)
		began := time.Now()
		p.expect(0, "a", 2)
		if took := time.Since(began); took != fetchTimeout {
			p.Errorf("a fetch that hangs took %v", took)
		}
		time.Sleep(30 * time.Second)
		began = time.Now()
		go p.expect(0, "a", 3)
		synctest.Wait()
		p.expect(0, "a", 3)
		if took := time.Since(began); took != 0 {
			p.Errorf("who came second waited %v with a usable value at hand", took)
		}
		time.Sleep(fetchTimeout)
	})
}
