// Package topic publishes effect messages to a Pub/Sub topic: the fast path from a planned effect
// to the function that runs it. Its subscription pushes to the effects function; the sweep
// publishes again what is lost on the way.
package topic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	pubsub "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/opledger/opledger/shared/ledger"
)

// A Topic is a ledger.Publisher. It sends each message by itself, and at once: its caller waits for
// it. The library's own publisher, which gathers messages, would add to every cold start.
type Topic struct {
	client *pubsub.TopicAdminClient
	name   string // projects/P/topics/T

	mu      sync.Mutex
	closed  bool
	sending sync.WaitGroup
}

// publishTimeout bounds how long a message is repeated, also one whose caller's context has ended.
// The client's default is a minute, and Close waits for it. The sweep publishes what was lost.
const publishTimeout = 5 * time.Second

// Open returns the topic with that name, or with that full name (projects/P/topics/T). It respects
// PUBSUB_EMULATOR_HOST. It sends nothing: a topic that does not exist fails Publish.
func Open(ctx context.Context, project, name string, options ...option.ClientOption) (*Topic, error) {
	if !strings.Contains(name, "/") {
		name = "projects/" + project + "/topics/" + name
	}
	// Without keepalive a connection that was dropped in silence costs each message its whole time.
	alive := option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Minute}))
	client, err := pubsub.NewTopicAdminClient(ctx, append([]option.ClientOption{alive}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("making a Pub/Sub client for topic %s: %w", name, err)
	}
	return &Topic{client: client, name: name}, nil
}

// Publish returns when Pub/Sub has stored the message. A message goes on where its caller leaves: what
// it is about is committed. Errors: the context's, and Pub/Sub's.
func (t *Topic) Publish(ctx context.Context, m ledger.Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding an effect message: %w", err)
	}
	select {
	case err = <-t.send(ctx, data):
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("publishing to topic %s: %w", t.name, err)
	}
	return nil
}

// send publishes data, and sends on the channel what came of it.
func (t *Topic) send(ctx context.Context, data []byte) <-chan error {
	sent := make(chan error, 1) // with room for what its caller does not wait for
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		sent <- errClosed
		return sent
	}
	t.sending.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
		defer cancel()
		_, err := t.client.Publish(ctx, &pubsubpb.PublishRequest{
			Topic: t.name, Messages: []*pubsubpb.PubsubMessage{{Data: data}},
		})
		sent <- err
	})
	return sent
}

var errClosed = errors.New("the Pub/Sub client is closed")

// Close waits for what is being sent, and closes the connection.
func (t *Topic) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.sending.Wait()
	return t.client.Close()
}
