package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A Queue hands messages over inside this process, where no Pub/Sub topic is set. It keeps nothing: a message that is lost
// with the process, or when the queue is full, is published again by the sweep, because the effects' documents are the outbox.
type Queue struct {
	messages chan ledger.Message

	mu      sync.Mutex
	ended   <-chan struct{} // closed when Run ends; nil while it does not run
	waiting sync.WaitGroup  // messages that are put back later
}

const (
	queueLength = 4096
	// redelivery is how long a message that could not be handled waits at least, as with Pub/Sub.
	redelivery = 100 * time.Millisecond
)

var errQueueFull = errors.New("the queue of effects is full")

// NewQueue returns an empty queue. Nothing is handled until Run.
func NewQueue() *Queue {
	return &Queue{messages: make(chan ledger.Message, queueLength)}
}

// Publish puts a message into the queue.
func (q *Queue) Publish(_ context.Context, m ledger.Message) error {
	select {
	case q.messages <- m:
		return nil
	default:
		return errQueueFull
	}
}

// Run handles messages with that many workers until ctx ends, and returns when what was in progress has ended, too. work is
// the context of that; it may live longer than ctx. handle reports whether the message must be delivered again, and after
// how long.
func (q *Queue) Run(ctx, work context.Context, workers int, handle func(context.Context, ledger.Message) (bool, time.Duration)) {
	q.running(ctx.Done())
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case m := <-q.messages:
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

// Drain handles what is in the queue, once each, and returns when it is empty: for a command that is about to end.
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

// Later puts a message into the queue when a time has passed, while Run runs; otherwise it is left to the sweep.
func (q *Queue) Later(m ledger.Message, after time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended := q.ended
	if ended == nil {
		return
	}
	q.waiting.Go(func() {
		timer := time.NewTimer(max(after, redelivery))
		defer timer.Stop()
		select {
		case <-timer.C:
			_ = q.Publish(context.Background(), m) // a full queue loses it until the sweep
		case <-ended:
		}
	})
}
