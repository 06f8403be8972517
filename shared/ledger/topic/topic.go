// Package topic publishes effect messages to a Pub/Sub topic: the fast path from a planned effect
// to the function that runs it. Its subscription pushes to the effects function; the sweep
// publishes again what is lost on the way.
package topic

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"

	"github.com/opledger/opledger/shared/ledger"
)

// A Topic is a ledger.Publisher.
type Topic struct {
	client    *pubsub.Client
	publisher *pubsub.Publisher
}

// publishTimeout bounds how long the client retries a message whose caller's context has ended. The
// client's default is a minute, and Close waits for it. The sweep publishes what was lost.
const publishTimeout = 5 * time.Second

// Open returns the topic with that name, or with that full name (projects/P/topics/T). It respects
// PUBSUB_EMULATOR_HOST. It sends nothing: a topic that does not exist fails Publish.
func Open(ctx context.Context, project, name string, options ...option.ClientOption) (*Topic, error) {
	client, err := pubsub.NewClient(ctx, project, options...)
	if err != nil {
		return nil, fmt.Errorf("making a Pub/Sub client for topic %s: %w", name, err)
	}
	publisher := client.Publisher(name)
	// Each message is awaited, so waiting for a batch would only delay its caller.
	publisher.PublishSettings.CountThreshold = 1
	publisher.PublishSettings.DelayThreshold = time.Millisecond
	publisher.PublishSettings.Timeout = publishTimeout
	return &Topic{client: client, publisher: publisher}, nil
}

// Publish returns when Pub/Sub has stored the message. Errors: the context's, and Pub/Sub's.
func (t *Topic) Publish(ctx context.Context, m ledger.Message) error {
	data, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding an effect message: %w", err)
	}
	if _, err = t.publisher.Publish(ctx, &pubsub.Message{Data: data}).Get(ctx); err != nil {
		return fmt.Errorf("publishing to topic %s: %w", t.publisher.ID(), err)
	}
	return nil
}

// Close sends what is still queued and closes the connection.
func (t *Topic) Close() error {
	t.publisher.Stop()
	return t.client.Close()
}
