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

	"github.com/opledger/opledger/shared/lazy"
	"github.com/opledger/opledger/shared/ledger"
)

// A Topic is a ledger.Publisher. It sends each message by itself, and at once: its caller waits for
// it. The library's own publisher, which gathers messages, would add to every cold start.
type Topic struct {
	name    string // projects/P/topics/T
	options []option.ClientOption
	timeout time.Duration // how long a message is repeated

	mu      sync.Mutex
	closed  bool
	sending sync.WaitGroup

	client lazy.Value[*pubsub.TopicAdminClient]
}

// publishTimeout bounds how long a message is repeated, also one whose caller's context has ended.
// The client's default is a minute, and Close waits for it. The sweep publishes what was lost. It does
// not bound how long the first message looks for credentials: the client keeps the context.
const publishTimeout = 5 * time.Second

// New returns the topic with that name, or with that full name (projects/P/topics/T). It makes its
// client for the first message, for which a process that publishes none pays nothing. It respects
// PUBSUB_EMULATOR_HOST.
func New(project, name string, options ...option.ClientOption) *Topic {
	if !strings.Contains(name, "/") {
		name = "projects/" + project + "/topics/" + name
	}
	return &Topic{name: name, options: options, timeout: publishTimeout}
}

// Open is New with the client made, so that missing credentials show at once. It sends nothing: a
// topic that does not exist fails Publish.
func Open(ctx context.Context, project, name string, options ...option.ClientOption) (*Topic, error) {
	t := New(project, name, options...)
	_, err := t.client.Get(ctx, t.dial)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Topic) dial(ctx context.Context) (*pubsub.TopicAdminClient, error) {
	// Without keepalive a connection that was dropped in silence costs each message its whole time.
	alive := option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 5 * time.Minute}))
	options := append([]option.ClientOption{alive}, t.options...)
	client, err := pubsub.NewTopicAdminClient(context.WithoutCancel(ctx), options...)
	if err != nil {
		return nil, fmt.Errorf("making a Pub/Sub client for topic %s: %w", t.name, err)
	}
	return client, nil
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.timeout)
		defer cancel()
		client, err := t.client.Get(ctx, t.dial)
		if err == nil {
			_, err = client.Publish(ctx, &pubsubpb.PublishRequest{
				Topic: t.name, Messages: []*pubsubpb.PubsubMessage{{Data: data}},
			})
		}
		sent <- err
	})
	return sent
}

var errClosed = errors.New("the Pub/Sub client is closed")

// Close waits for what is being sent, and closes the connection, if there is one.
func (t *Topic) Close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.sending.Wait() // after it nothing makes a client
	return t.client.Close(errClosed, (*pubsub.TopicAdminClient).Close)
}
