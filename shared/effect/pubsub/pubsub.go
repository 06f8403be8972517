// Package pubsub is the kind of effect that publishes a message to a topic of Pub/Sub.
package pubsub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	pubsub "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/lazy"
	"github.com/opledger/opledger/shared/ledger"
)

// Do publishes the payload to a topic.
type Do struct {
	spec.NoSecrets
	Topic string // projects/P/topics/T, or T in the project of the Topics
}

// Fields implements [spec.Action].
func (d *Do) Fields() []spec.Field { return []spec.Field{spec.Text("topic", &d.Topic)} }

// topicName is what Pub/Sub accepts as a topic, with or without its project.
var topicName = diag.Pattern(`^(projects/[a-z0-9][a-z0-9.:-]*/topics/)?[A-Za-z][A-Za-z0-9_.~+%-]+$`)

const minTopic, maxTopic = 3, 255 // bytes, without the project

// Check implements [spec.Action].
func (d *Do) Check(_ spec.Spec, wrong spec.Report) {
	if n := len(path.Base(d.Topic)); !topicName().MatchString(d.Topic) || n < minTopic || n > maxTopic {
		wrong("topic", "topic must be projects/PROJECT/topics/TOPIC or TOPIC, not %s", diag.Quote(d.Topic))
	}
}

// Handler returns what performs the effect. Error: ErrNoProject.
func (d *Do) Handler(s spec.Spec, topics *Topics) (effect.Handler, error) {
	topic, err := topics.fullName(d.Topic)
	return New(topics, topic, s.Timeout), err
}

// Unperformable returns the error of Topics.Check.
func (d *Do) Unperformable(ctx context.Context, topics *Topics) error {
	return topics.Check(ctx, d.Topic)
}

// Topics publishes to the topics of Do. It is safe for concurrent use. It connects at its
// first message, and honours PUBSUB_EMULATOR_HOST then. Close it when done.
type Topics struct {
	project string
	options []option.ClientOption
	client  lazy.Value[*pubsub.TopicAdminClient]
}

var errClosed = errors.New("the Pub/Sub client is closed")

// NewTopics returns Topics that have not connected yet. project is that of topics which do not name
// one; it may be empty.
func NewTopics(project string, options ...option.ClientOption) *Topics {
	return &Topics{project: project, options: options}
}

// Close closes the connection, if there is one. Later attempts fail and can be repeated elsewhere.
func (t *Topics) Close() error {
	if err := t.client.Close(errClosed, (*pubsub.TopicAdminClient).Close); err != nil {
		return fmt.Errorf("closing the Pub/Sub client: %w", err)
	}
	return nil
}

func (t *Topics) dial(ctx context.Context) (*pubsub.TopicAdminClient, error) {
	client, err := pubsub.NewTopicAdminClient(context.WithoutCancel(ctx), t.options...)
	if err != nil {
		return nil, fmt.Errorf("making a Pub/Sub client: %w%s", err, diag.LogIn)
	}
	client.CallOptions.GetTopic = nil // Check must not be retried until its time is over
	return client, nil
}

// ErrNoTopic is wrapped by the error of Check for a topic that does not exist.
var ErrNoTopic = errors.New("does not exist")

// Check returns why nothing can be published to a topic as things are: there are no credentials,
// Pub/Sub cannot be reached, or the topic does not exist. It returns nil where that cannot be
// known, as without the permission to get topics, which publishing does not need. The topic has
// either name, as Do's. Errors: ErrNoProject, ErrNoTopic.
func (t *Topics) Check(ctx context.Context, topic string) error {
	topic, err := t.fullName(topic)
	if err != nil {
		return err
	}
	client, err := t.client.Get(ctx, t.dial)
	if err != nil {
		return err
	}
	_, err = client.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: topic})
	switch status.Code(err) {
	case codes.NotFound:
		return fmt.Errorf("the topic %s %w", topic, ErrNoTopic)
	case codes.Unavailable, codes.Unauthenticated:
		return fmt.Errorf("asking Pub/Sub for the topic %s: %w", topic, new(diag.Redactor).Error(err))
	default:
		return nil
	}
}

// ErrNoProject is the error for a topic that names no project where there is no project of Topics.
var ErrNoProject = errors.New("names no project")

// fullName returns projects/P/topics/T for a topic by either name. Error: ErrNoProject.
func (t *Topics) fullName(topic string) (string, error) {
	switch {
	case strings.Contains(topic, "/"):
		return topic, nil
	case t.project == "":
		return "", fmt.Errorf("topic %q %w: write it as projects/PROJECT/topics/%[1]s", topic, ErrNoProject)
	default:
		return "projects/" + t.project + "/topics/" + topic, nil
	}
}

// New returns a handler that publishes the payload to a topic, projects/P/topics/T, and waits
// for Pub/Sub's confirmation. timeout bounds one attempt; 0: [spec.DefaultTimeout]. The ordering key is the
// operation's key, so that a subscription with ordering gets the messages of one operation in
// order. The attributes are idempotencyKey, operation, effect, state and, where there is one,
// jobKind and traceparent, that of the submission: the same on every attempt.
//
// Consumers get the message at least once, and detect a repeat by idempotencyKey. Pub/Sub may
// deliver a message twice, and an attempt whose outcome did not reach the ledger is published again
// as another message.
//
// Only what Pub/Sub can never accept is permanent: a message that is too large, or against the
// topic's schema. A missing topic or permission is a mistake in the deployment, which the operator
// fixes; such an attempt is retried with back-off, for hours.
func New(topics *Topics, topic string, timeout time.Duration) effect.Handler {
	timeout = cmp.Or(timeout, spec.DefaultTimeout)
	return effect.HandlerFunc(func(ctx context.Context, task effect.Task) ([]ledger.Write, error) {
		if len(task.Payload) > maxMessageBytes { // the client would copy it before it is refused
			return nil, effect.Permanent(fmt.Errorf("the payload has %d bytes, more than the %d of a message", len(task.Payload),
				maxMessageBytes))
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		client, err := topics.client.Get(ctx, topics.dial)
		if err != nil {
			return nil, err
		}
		// A pubsub.Publisher would go on with the message after ctx and the lease have ended. It
		// also blocks an ordering key after an error.
		_, err = client.Publish(ctx, &pubsubpb.PublishRequest{
			Topic: topic, Messages: []*pubsubpb.PubsubMessage{message(task)},
		})
		if err == nil {
			return nil, nil
		}
		failure := fmt.Errorf("publishing to %s: %w", topic, new(diag.Redactor).Error(err))
		if status.Code(err) == codes.InvalidArgument {
			failure = effect.Permanent(failure)
		}
		return nil, failure
	})
}

// message returns what is published for a task.
func message(task effect.Task) *pubsubpb.PubsubMessage {
	attributes := map[string]string{
		"idempotencyKey": effect.Bounded(task.IdempotencyKey), "operation": effect.Bounded(string(task.Operation)),
		"effect": task.Effect,
	}
	var payload ledger.Payload
	if err := json.Unmarshal(task.Payload, &payload); err == nil { // else a consumer still has the data
		for name, value := range map[string]string{
			"state": string(payload.State), "jobKind": payload.JobKind, "traceparent": string(payload.TraceParent),
		} {
			if value != "" {
				attributes[name] = effect.Bounded(value)
			}
		}
	}
	return &pubsubpb.PubsubMessage{Data: task.Payload, Attributes: attributes, OrderingKey: attributes["operation"]}
}

// maxMessageBytes is the largest message that Pub/Sub accepts.
const maxMessageBytes = 10 << 20
