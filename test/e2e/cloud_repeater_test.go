package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"github.com/opledger/opledger/shared/ledger"
)

// A repeater hands every message over one to three times at once, and stands where Pub/Sub pushes them to.
type repeater struct {
	topic *pubsub.Publisher
	next  http.Handler

	mu        sync.Mutex
	random    *rand.Rand
	ids       []string        // of the messages that were published
	over      map[string]bool // whether a message has come to its end, by id
	delivered int
	underWay  int       // deliveries that are not answered
	last      time.Time // when one was, or the repeater was made
}

func newRepeater(c *cloud, seed uint64, next http.Handler) *repeater {
	p := &repeater{
		topic: c.admin.Publisher(topicID), next: next, random: rand.New(rand.NewPCG(seed, 5)),
		over: map[string]bool{}, last: time.Now(),
	}
	c.t.Cleanup(p.topic.Stop)
	return p
}

// Publish implements ledger.Publisher.
func (p *repeater) Publish(ctx context.Context, m ledger.Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.mu.Lock()
	results := make([]*pubsub.PublishResult, 1+p.random.IntN(3))
	p.mu.Unlock()
	for i := range results {
		results[i] = p.topic.Publish(ctx, &pubsub.Message{Data: data})
	}
	for _, result := range results {
		id, err := result.Get(ctx)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.ids = append(p.ids, id)
		p.mu.Unlock()
	}
	return nil
}

func (p *repeater) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	var pushed struct {
		Message struct {
			ID string `json:"messageId"`
		}
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &pushed)
	}
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	status := &statusWriter{ResponseWriter: answer}
	p.mu.Lock()
	p.underWay++
	p.mu.Unlock()
	p.next.ServeHTTP(status, r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underWay--
	p.last = time.Now()
	p.delivered++
	if status.code/100 == 2 {
		p.over[pushed.Message.ID] = true
	}
}

// open counts the messages that have not come to their end. The caller holds mu.
func (p *repeater) open() (n int) {
	for _, id := range p.ids {
		if !p.over[id] {
			n++
		}
	}
	return n
}

// forgotten is how long after the last delivery another one would have come, many times over by the retry policy.
const forgotten = 15 * time.Second

// rests reports whether nothing will be delivered any more: every message has come to its end, or
// the emulator has forgotten the others, as it was seen to forget messages that were refused twice
// while it was busy.
func (p *repeater) rests() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.underWay == 0 && (p.open() == 0 || time.Since(p.last) > forgotten)
}

func (p *repeater) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d messages and those of the sweep delivered %d times, %d never taken", len(p.ids),
		p.delivered, p.open())
}

// A statusWriter remembers what was answered.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}
