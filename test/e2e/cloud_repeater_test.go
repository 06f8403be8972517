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
}

func newRepeater(c *cloud, seed uint64, next http.Handler) *repeater {
	p := &repeater{topic: c.admin.Publisher(topicID), next: next, random: rand.New(rand.NewPCG(seed, 5)), over: map[string]bool{}}
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
	p.next.ServeHTTP(status, r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delivered++
	if status.code/100 == 2 {
		p.over[pushed.Message.ID] = true
	}
}

// open counts the messages that have not come to their end.
func (p *repeater) open() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.ids {
		if !p.over[id] {
			n++
		}
	}
	return n
}

func (p *repeater) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d messages and those of the sweep delivered %d times", len(p.ids), p.delivered)
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
