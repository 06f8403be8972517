package trial

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/topic"
)

// Emulators are Google's own: Firestore for the documents, Pub/Sub with a push subscription for the
// effects.
type emulators struct {
	store ledger.Store
	topic *topic.Topic
	close func() error
}

// startEmulators starts both emulators, and pushes effects to pushURL. The run has a project of its
// own, because other programs may use the same emulators.
func startEmulators(ctx context.Context, pushURL string) (_ *emulators, err error) {
	var closers []func() error
	closeAll := func() error {
		var errs []error
		for _, closer := range slices.Backward(closers) {
			errs = append(errs, closer())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	start := func(how func(context.Context) (*emulator.Process, error)) (string, error) {
		process, err := how(ctx)
		if err != nil {
			return "", err
		}
		closers = append(closers, func() error { process.Stop(); return nil })
		return process.Addr(), nil
	}
	project := "local-" + strings.ToLower(rand.Text()[:16])

	firestoreAddr, err := start(emulator.StartFirestore)
	if err != nil {
		return nil, err
	}
	store, err := firestore.Open(ctx, project, "", dial.Options(firestoreAddr)...)
	if err != nil {
		return nil, err
	}
	closers = append(closers, store.Close)

	pubsubAddr, err := start(emulator.StartPubSub)
	if err != nil {
		return nil, err
	}
	unsubscribe, err := subscribe(ctx, project, pubsubAddr, pushURL)
	if err != nil {
		return nil, err
	}
	closers = append(closers, unsubscribe)
	effects, err := topic.Open(ctx, project, topicID, dial.Options(pubsubAddr)...)
	if err != nil {
		return nil, err
	}
	closers = append(closers, effects.Close)
	return &emulators{store: store, topic: effects, close: closeAll}, nil
}

const topicID = "opledger-effects"

// subscribe makes the topic and a push subscription like that of a deployment. The returned
// function deletes the subscription, because the emulator would push to its endpoint for ever.
func subscribe(ctx context.Context, project, addr, pushURL string) (func() error, error) {
	client, err := pubsub.NewClient(ctx, project, dial.Options(addr)...)
	if err != nil {
		return nil, fmt.Errorf("making a Pub/Sub client: %w", err)
	}
	topicName := fmt.Sprintf("projects/%s/topics/%s", project, topicID)
	subscriptionName := fmt.Sprintf("projects/%s/subscriptions/%s", project, topicID)
	_, err = client.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: topicName})
	if err == nil {
		_, err = client.SubscriptionAdminClient.CreateSubscription(ctx, &pubsubpb.Subscription{
			Name: subscriptionName, Topic: topicName,
			PushConfig: &pubsubpb.PushConfig{PushEndpoint: pushURL},
			RetryPolicy: &pubsubpb.RetryPolicy{
				MinimumBackoff: durationpb.New(time.Second), MaximumBackoff: durationpb.New(10 * time.Second),
			},
		})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the effects' topic and subscription: %w", err), client.Close())
	}
	return func() error {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err := client.SubscriptionAdminClient.DeleteSubscription(ending,
			&pubsubpb.DeleteSubscriptionRequest{Subscription: subscriptionName})
		return errors.Join(err, client.Close())
	}, nil
}
