package server

import (
	"context"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A Queue delivers messages inside this process if no Pub/Sub topic is set. It is not durable: the
// sweep publishes a message again that is lost with the process, or because the queue is full. The
// documents of the effects are the outbox.
type Queue struct {
	messages chan ledger.Message

	// room holds a value when the queue is empty again after it was full.
	room chan struct{}

	mu      sync.Mutex
	refused bool            // a message, since room was last told
	ended   <-chan struct{} // closed when Run ends; nil while it does not run
	waiting sync.WaitGroup  // for Behind
}

const (
	queueLength = 4096
	// redelivery is the least time before a failed message is delivered again, as with Pub/Sub.
	redelivery = 100 * time.Millisecond
)

// NewQueue returns an empty queue. It handles nothing before Run.
func NewQueue() *Queue {
	return &Queue{messages: make(chan ledger.Message, queueLength), room: make(chan struct{}, 1)}
}

// Publish adds a message. It returns ErrQueueFull at once if the queue is full.
func (q *Queue) Publish(_ context.Context, m ledger.Message) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case q.messages <- m:
		return nil
	default:
		q.refused = true
		return ledger.ErrQueueFull
	}
}

// taken tells room where the message that was just taken was the last one, and another had been refused. Not sooner:
// a sweep would find due, and publish twice, what is in the queue.
func (q *Queue) taken() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.refused || len(q.messages) > 0 {
		return
	}
	q.refused = false
	select {
	case q.room <- struct{}{}:
	default:
	}
}

// Run handles messages with that many workers until ctx ends, and returns when the messages in
// progress are handled. Those have the context work, which may outlive ctx. None is begun after the
// end of ctx: the sweep publishes what is left. handle reports whether the message must be delivered
// again, and after how long.
func (q *Queue) Run(
	ctx, work context.Context, workers int, handle func(context.Context, ledger.Message) (bool, time.Duration),
) {
	q.running(ctx.Done())
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case m := <-q.messages:
					if ctx.Err() != nil { // both were ready
						return
					}
					q.taken()
					if again, after := handle(work, m); again {
						q.Later(m, after)
					}
				}
			}
		})
	}
	group.Wait()
	q.running(nil)
	q.waiting.Wait()
}

func (q *Queue) running(ended <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = ended
}

// Drain handles every message in the queue once, and returns when it is empty. It is for a command
// that is about to end.
func (q *Queue) Drain(ctx context.Context, handle func(context.Context, ledger.Message) (bool, time.Duration)) {
	for ctx.Err() == nil {
		select {
		case m := <-q.messages:
			handle(ctx, m)
		default:
			return
		}
	}
}

// Behind runs do beside the caller while Run runs; otherwise it does nothing. stop is closed when Run ends, which waits
// for do.
func (q *Queue) Behind(do func(stop <-chan struct{})) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if stop := q.ended; stop != nil {
		q.waiting.Go(func() { do(stop) })
	}
}

// Later adds a message after a time, if Run runs; otherwise the sweep publishes it again.
func (q *Queue) Later(m ledger.Message, after time.Duration) {
	q.Behind(func(stop <-chan struct{}) {
		timer := time.NewTimer(max(after, redelivery))
		defer timer.Stop()
		select {
		case <-timer.C:
			_ = q.Publish(context.Background(), m) // if the queue is full, the sweep publishes it again
		case <-stop:
		}
	})
}
