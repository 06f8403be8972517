package e2e

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A receiver is a service at the other end of the http effect as functions/effects/README.md asks for one: it
// remembers idempotency keys, does what a new one asks, and answers a repeat without doing
// anything. It remembers every attempt, too, so that the test can ask why there was another.
type receiver struct {
	fleet *fleet
	// refuseEvery makes every so many attempts meet a 503 before anything is done; 0 none.
	refuseEvery int
	// hold, if not nil, is called with the request before it is looked at, and says whether its sender still waits.
	hold func(*http.Request) bool
	// misbehaves, if not nil, says what becomes of the nth request.
	misbehaves func(n int) misdeed
	// hopelessEvery makes every so many keys, from the first on, be refused for good; 0 none.
	hopelessEvery int

	mu       sync.Mutex
	seen     int
	attempts map[string][]*attempt // by idempotency key, in the order they came
	accepted map[string][]byte     // the body
	hopeless map[string]bool       // the keys that are refused for good
	problems []string
}

// An attempt is one request that reached the receiver.
type attempt struct {
	process string
	number  int // as opledger counts
	came    time.Time
	refused bool // it was not told that anything was done, and is to try again
	misdeed misdeed
	repeat  bool // what it asks for was done before
	known   bool // and the ledger knew
	over    bool // answered, or its process is dead
}

func newReceiver(f *fleet) *receiver {
	return &receiver{
		fleet: f, attempts: map[string][]*attempt{}, accepted: map[string][]byte{}, hopeless: map[string]bool{},
	}
}

const sinkPath = "/sink/"

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	process := request.URL.Path[len(sinkPath):]
	killer, key := r.fleet.killer, request.Header.Get("Idempotency-Key")
	body, err := io.ReadAll(request.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // its process was killed while it sent
	}
	if r.hold != nil && !r.hold(request) {
		panic(http.ErrAbortHandler)
	}
	a, status := r.arrive(process, request.Header, body)
	defer r.end(a)
	if a.misdeed.before(w, request) {
		return
	}
	if killer.strike(beforeEffect, process, key) {
		panic(http.ErrAbortHandler)
	}
	if status == http.StatusOK {
		r.accept(key, body)
		if killer.strike(duringEffect, process, key) {
			panic(http.ErrAbortHandler)
		}
	}
	if a.misdeed == doesAndHidesIt {
		panic(http.ErrAbortHandler)
	}
	// With its length known the answer is whole once it is flushed, and the process at work on it.
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
	_ = http.NewResponseController(w).Flush() // a process that is gone cannot be told
	killer.strike(afterEffect, process, key)
}

// arrive notes an attempt and says what it will be answered.
func (r *receiver) arrive(process string, header http.Header, body []byte) (*attempt, int) {
	key := header.Get("Idempotency-Key")
	number, err := strconv.Atoi(header.Get("Opledger-Attempt"))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || key == "" || header.Get("Content-Type") != "application/json" {
		r.problem("%s sent headers %v", process, header)
	}
	for _, other := range r.attempts[key] {
		if !other.over && !r.fleet.isDead(other.process) {
			r.problem("%s and %s were at %s at once", other.process, process, key)
		}
		// An attempt that SIGTERM interrupted is not counted. And a request with an Idempotency-Key is
		// sent again by Go itself where a connection that was in use before is closed.
		again := r.fleet.find(other.process).isLeaving() || other.process == process && other.misdeed.hidesIt()
		if number < other.number || number == other.number && !again {
			r.problem("%s: attempt %d came after attempt %d", key, number, other.number)
		}
	}
	if first, there := r.accepted[key]; there && !bytes.Equal(first, body) {
		r.problem("%s was repeated with other bytes:\n%s\n%s", key, first, body)
	}
	if r.hopelessEvery > 0 && len(r.attempts[key]) == 0 && len(r.attempts)%r.hopelessEvery == 0 {
		r.hopeless[key] = true
	}
	_, repeat := r.accepted[key]
	a := &attempt{
		process: process, number: number, came: time.Now(), repeat: repeat, known: r.fleet.store.done(key),
	}
	r.attempts[key] = append(r.attempts[key], a)
	r.seen++
	if r.hopeless[key] {
		return a, http.StatusUnprocessableEntity
	}
	if r.misbehaves != nil {
		a.misdeed = r.misbehaves(r.seen)
		a.refused, a.over = a.misdeed != none, a.misdeed == hangs
	}
	if r.refuseEvery > 0 && r.seen%r.refuseEvery == 0 {
		a.refused = true
		return a, http.StatusServiceUnavailable
	}
	return a, http.StatusOK
}

// count returns how many keys were accepted.
func (r *receiver) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.accepted)
}

// accept does what the key asks for, unless that was done.
func (r *receiver) accept(key string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, repeat := r.accepted[key]; !repeat {
		r.accepted[key] = body
	}
}

func (r *receiver) end(a *attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.over = true
}

func (r *receiver) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// keys returns every key that was accepted.
func (r *receiver) keys() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.accepted))
}

// of returns the attempts at the effect of a key, and the body that was accepted.
func (r *receiver) of(key string) ([]*attempt, []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.attempts[key]), r.accepted[key]
}

// audit returns what was wrong, how many attempts were repeats of what had been done, and why there
// was another after one that was answered for good: only where the ledger could not know of it.
func (r *receiver) audit() (problems []string, repeats int, excused map[excuse]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	problems, excused = r.problems, map[excuse]int{}
	for key, attempts := range r.attempts {
		for i, a := range attempts[1:] {
			before := attempts[i]
			if a.repeat {
				repeats++
			}
			if a.known && r.fleet.excuseOf(a, key) != leaseLost {
				problems = append(problems,
					fmt.Sprintf("%s: %s repeated what the ledger knew was done", key, a.process))
			}
			if before.refused {
				continue
			}
			if why := r.fleet.excuseOf(before, key); why != "" {
				excused[why]++
			} else {
				problems = append(problems, fmt.Sprintf("%s: %s repeated attempt %d, of %s, which had ended", key, a.process,
					before.number, before.process))
			}
		}
		last := attempts[len(attempts)-1]
		for _, by := range r.fleet.whoFinished(key) {
			if by.process != last.process || by.number != last.number {
				problems = append(problems, fmt.Sprintf("%s: %s says that its attempt %d finished, but %d, of %s, came last",
					key, by.process, by.number, last.number, last.process))
			}
		}
	}
	return problems, repeats, excused
}
