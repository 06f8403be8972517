package e2e

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/test/harness"
)

// A cloud is a project on both emulators, with the effects' topic.
type cloud struct {
	t                 *testing.T
	project           string
	firestore, pubsub string // the emulators' addresses
	admin             *pubsub.Client
	backend           backend // keeps a fleet's ledger here
}

const topicID = "effects"

func newCloud(t *testing.T) *cloud {
	t.Helper()
	return newCloudAt(t, harness.Firestore(t), harness.PubSub(t))
}

// newCloudAt is newCloud on emulators at these addresses.
func newCloudAt(t *testing.T, store, topics string) *cloud {
	t.Helper()
	c := &cloud{t: t, project: harness.ProjectID(t), firestore: store, pubsub: topics}
	c.backend = newBackend(t, func(ctx context.Context) (ledger.Store, error) {
		return firestore.Open(ctx, c.project, "", dial.Options(c.firestore)...)
	}, c.variables()...)
	var err error
	c.admin, err = pubsub.NewClient(t.Context(), c.project, dial.Options(c.pubsub)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.admin.Close(); err != nil {
			t.Error(err)
		}
	})
	c.createTopic(topicID)
	return c
}

func (c *cloud) topic(id string) string { return "projects/" + c.project + "/topics/" + id }
func (c *cloud) subscription(id string) string {
	return "projects/" + c.project + "/subscriptions/" + id
}

func (c *cloud) createTopic(id string) {
	c.t.Helper()
	if _, err := c.admin.TopicAdminClient.CreateTopic(c.t.Context(), &pubsubpb.Topic{Name: c.topic(id)}); err != nil {
		c.t.Fatal(err)
	}
}

// variables is what a process is told of the cloud.
func (c *cloud) variables() []string {
	return []string{
		"GOOGLE_CLOUD_PROJECT=" + c.project, "FIRESTORE_EMULATOR_HOST=" + c.firestore,
		"PUBSUB_EMULATOR_HOST=" + c.pubsub, "OPLEDGER_TOPIC=" + topicID,
	}
}

// pushPath is what the path of a push begins with, as a deployment's subscription has it.
const pushPath = "/projects/"

// push makes a subscription like that of a deployment, which pushes what is published on the topic
// to a server. What cannot be delivered goes to the topic deadLetter, unless that is empty. It ends
// before the test does: an endpoint that is gone would be pushed to for as long as the emulator
// lives.
func (c *cloud) push(url, deadLetter string) {
	c.t.Helper()
	subscription := c.pushTo(url)
	if deadLetter != "" {
		subscription.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{
			DeadLetterTopic: c.topic(deadLetter), MaxDeliveryAttempts: 5,
		}
	}
	c.subscribe(subscription)
}

// pushTo describes a subscription like that of a deployment.
func (c *cloud) pushTo(url string) *pubsubpb.Subscription {
	return &pubsubpb.Subscription{
		Name: c.subscription("push"), Topic: c.topic(topicID),
		PushConfig: &pubsubpb.PushConfig{PushEndpoint: url}, AckDeadlineSeconds: 60,
		RetryPolicy: &pubsubpb.RetryPolicy{
			MinimumBackoff: durationpb.New(time.Second), MaximumBackoff: durationpb.New(2 * time.Second),
		},
	}
}

func (c *cloud) subscribe(subscription *pubsubpb.Subscription) {
	c.t.Helper()
	if _, err := c.admin.SubscriptionAdminClient.CreateSubscription(c.t.Context(), subscription); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		request := &pubsubpb.DeleteSubscriptionRequest{Subscription: subscription.GetName()}
		if err := c.admin.SubscriptionAdminClient.DeleteSubscription(ctx, request); err != nil {
			c.t.Error(err)
		}
	})
}

// publish publishes a message as an operator may.
func (c *cloud) publish(data string) {
	c.t.Helper()
	publisher := c.admin.Publisher(topicID)
	defer publisher.Stop()
	if _, err := publisher.Publish(c.t.Context(), &pubsub.Message{Data: []byte(data)}).Get(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// pull takes one message from a subscription.
func (c *cloud) pull(id string) *pubsubpb.PubsubMessage {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	for {
		pulled, err := c.admin.SubscriptionAdminClient.Pull(ctx,
			&pubsubpb.PullRequest{Subscription: c.subscription(id), MaxMessages: 1})
		if err != nil {
			c.t.Fatalf("pulling from %s: %v", id, err)
		}
		for _, received := range pulled.GetReceivedMessages() {
			err := c.admin.SubscriptionAdminClient.Acknowledge(ctx, &pubsubpb.AcknowledgeRequest{
				Subscription: c.subscription(id), AckIds: []string{received.GetAckId()},
			})
			if err != nil {
				c.t.Error(err)
			}
			return received.GetMessage()
		}
	}
}
