package pubsub_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	pubsub "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/opledger/opledger/shared/effect"
	effectpubsub "github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/test/harness"
)

// TestPubSubEmulator: through the official emulator, found by PUBSUB_EMULATOR_HOST, a subscription
// with ordering gets every message of many attempts. It sets a variable, so it is not parallel.
func TestPubSubEmulator(t *testing.T) {
	addr, project := harness.PubSub(t), harness.ProjectID(t)
	options := dial.Options(addr)
	admin, err := pubsub.NewTopicAdminClient(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	subscriber, err := pubsub.NewSubscriptionAdminClient(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	defer subscriber.Close()
	topic, subscription := "projects/"+project+"/topics/completions", "projects/"+project+"/subscriptions/consumer"
	if _, err := admin.CreateTopic(t.Context(), &pubsubpb.Topic{Name: topic}); err != nil {
		t.Fatal(err)
	}
	if _, err := subscriber.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: subscription, Topic: topic, EnableMessageOrdering: true,
	}); err != nil {
		t.Fatal(err)
	}

	t.Setenv("PUBSUB_EMULATOR_HOST", addr)
	topics := effectpubsub.NewTopics(project)
	defer topics.Close()
	if err := topics.Check(t.Context(), topic); err != nil {
		t.Error(err)
	}
	if err := topics.Check(t.Context(), topic+"-not"); !errors.Is(err, effectpubsub.ErrNoTopic) {
		t.Errorf("there is no topic: %v", err)
	}
	h := effectpubsub.New(topics, topic, 0)
	const n = 20
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if _, err := h.Perform(t.Context(), completion(i)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if _, err := effectpubsub.New(topics, topic+"-not", 0).Perform(t.Context(), completion(0)); err == nil ||
		effect.IsPermanent(err) {
		t.Errorf("there is no topic: %v", err)
	}

	pull(t, subscriber, subscription, n)
}

// pull receives n different messages, and checks their ordering key.
func pull(t *testing.T, subscriber *pubsub.SubscriptionAdminClient, subscription string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := map[string]bool{}
	for len(seen) < n {
		pulled, err := subscriber.Pull(ctx, &pubsubpb.PullRequest{Subscription: subscription, MaxMessages: int32(n)})
		if err != nil {
			t.Fatalf("%d of %d messages came: %v", len(seen), n, err)
		}
		var got []string
		for _, received := range pulled.GetReceivedMessages() {
			m := received.GetMessage()
			seen[m.GetAttributes()["idempotencyKey"]] = true
			got = append(got, received.GetAckId())
			if m.GetOrderingKey() != string(key) {
				t.Errorf("ordering key %q", m.GetOrderingKey())
			}
		}
		if len(got) > 0 {
			acknowledge := &pubsubpb.AcknowledgeRequest{Subscription: subscription, AckIds: got}
			if err := subscriber.Acknowledge(ctx, acknowledge); err != nil {
				t.Fatal(err)
			}
		}
	}
}
