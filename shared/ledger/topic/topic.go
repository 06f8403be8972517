// Package topic publishes effect messages to a Pub/Sub topic: the fast path from a planned effect to the function that runs
// it. Its subscription pushes to the Effects function; what is lost on the way the sweep publishes again.
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

// publishTimeout bounds how long the client goes on with a message whose caller has given up; left alone it does for a
// minute, and Close waits for it. The sweep publishes what was lost.
const publishTimeout = 5 * time.Second

// Open returns the topic of that name, or of that full name (projects/P/topics/T). It honours PUBSUB_EMULATOR_HOST, and
// sends nothing: a topic that does not exist is an error of Publish.
func Open(ctx context.Context, project, name string, options ...option.ClientOption) (*Topic, error) {
	client, err := pubsub.NewClient(ctx, project, options...)
	if err != nil {
		return nil, fmt.Errorf("making a Pub/Sub client for topic %s: %w", name, err)
	}
	publisher := client.Publisher(name)
	// Each message is awaited, so one that waits for company only delays its caller.
	publisher.PublishSettings.CountThreshold = 1
	publisher.PublishSettings.DelayThreshold = time.Millisecond
	publisher.PublishSettings.Timeout = publishTimeout
	return &Topic{client: client, publisher: publisher}, nil
}

// Publish returns when Pub/Sub has the message.
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

// Close sends what is still to be sent and lets go of the connection.
func (t *Topic) Close() error {
	t.publisher.Stop()
	return t.client.Close()
}
