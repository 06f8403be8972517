package e2e

import "net/http"

// A misdeed is what a receiver does to a request that it should have answered with 200.
type misdeed int

const (
	none           misdeed = iota
	saysTooMany            // and when to come again
	fails                  // with 500
	hangs                  // until its sender gives up
	hangsUp                // before anything is done
	doesAndHidesIt         // it hangs up after it was done
	misdeeds               // how many there are
)

// inTurns misbehaves at every so many requests, each time in another way.
func inTurns(every int) func(n int) misdeed {
	return func(n int) misdeed {
		if n%every != 0 {
			return none
		}
		return 1 + misdeed(n/every)%(misdeeds-1)
	}
}

// before does what a misdeed does before anything is done, and reports whether that was all.
func (m misdeed) before(w http.ResponseWriter, r *http.Request) bool {
	switch m {
	case saysTooMany:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	case fails:
		w.WriteHeader(http.StatusInternalServerError)
	case hangs:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case hangsUp:
		panic(http.ErrAbortHandler)
	default:
		return false
	}
	return true
}

// hidesIt reports whether the sender cannot know whether anything was done.
func (m misdeed) hidesIt() bool { return m == hangsUp || m == doesAndHidesIt }

// refusesForGood reports whether a key is never accepted, so that its effect must be dead.
func (r *receiver) refusesForGood(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hopeless[key]
}
