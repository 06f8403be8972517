package local

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
)

// A receiver is the service at the other end of an http effect. As functions/effects/README.md asks, it remembers
// idempotency keys and refuses repeats, but only repeats after a lost answer: there opledger cannot
// know that the effect happened, and must send it again. It accepts any other repeat as a new
// request, as a service without a memory would. "Doubled" counts those.
type receiver struct {
	refuse, lose float64

	mu       sync.Mutex
	random   *rand.Rand
	accepted map[string]*acceptance // by idempotency key
	stats    receiverStats
}

type acceptance struct {
	body       string
	times      int
	answerLost bool // the last answer
}

type receiverStats struct {
	refused     int // requests answered 503, with nothing done
	answersLost int // requests done, with the answer lost
	excused     int // repeats of those, with the same bytes
	doubled     int // keys accepted twice, or repeated with other bytes
}

func newReceiver(seed uint64, faults string) *receiver {
	r := &receiver{random: rand.New(rand.NewPCG(seed, 1)), accepted: map[string]*acceptance{}}
	switch faults {
	case "normal":
		r.refuse, r.lose = 0.05, 0.02
	case "harsh":
		r.refuse, r.lose = 0.2, 0.1
	}
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch r.receive(request.Header.Get("Idempotency-Key"), string(body)) {
	case refused:
		http.Error(w, "deploying", http.StatusServiceUnavailable)
	case unanswered:
		panic(http.ErrAbortHandler) // the connection breaks
	}
}

type reception int

const (
	answered reception = iota
	unanswered
	refused
)

func (r *receiver) receive(key, body string) reception {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.random.Float64() < r.refuse {
		r.stats.refused++
		return refused
	}
	a := r.accepted[key]
	switch {
	case a == nil:
		a = &acceptance{body: body, times: 1}
		r.accepted[key] = a
	case a.answerLost && a.body == body:
		r.stats.excused++
	default:
		a.times++
		r.stats.doubled++
	}
	a.answerLost = r.random.Float64() < r.lose
	if a.answerLost {
		r.stats.answersLost++
		return unanswered
	}
	return answered
}

// times returns how often the receiver accepted a key.
func (r *receiver) times(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.accepted[key]; a != nil {
		return a.times
	}
	return 0
}

func (r *receiver) counts() receiverStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}
