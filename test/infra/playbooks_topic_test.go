package infra_test

import (
	"context"
	"net"
	"strconv"
	"sync"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
)

// A queue is the topic of the effects, as the operator's program publishes to it.
type queue struct {
	pubsubpb.UnimplementedPublisherServer
	addr string
	came chan struct{} // has a value after messages came

	mu   sync.Mutex
	sent []string
	ids  int
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q := &queue{addr: listener.Addr().String(), came: make(chan struct{}, 1)}
	server := grpc.NewServer()
	pubsubpb.RegisterPublisherServer(server, q)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return q
}

// Publish keeps messages.
func (q *queue) Publish(_ context.Context, r *pubsubpb.PublishRequest) (*pubsubpb.PublishResponse, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	answer := &pubsubpb.PublishResponse{}
	for _, m := range r.GetMessages() {
		q.ids++
		q.sent = append(q.sent, string(m.GetData()))
		answer.MessageIds = append(answer.MessageIds, strconv.Itoa(q.ids))
	}
	select {
	case q.came <- struct{}{}:
	default:
	}
	return answer, nil
}

// drain returns what was published since it was last called.
func (q *queue) drain() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	sent := q.sent
	q.sent = nil
	return sent
}
