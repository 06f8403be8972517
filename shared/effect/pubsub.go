package effect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	pubsub "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
)

var pubsubKind = kind{name: "pubsub", new: func() Action { return &DoPubSub{} }}

// DoPubSub publishes the payload to a topic.
type DoPubSub struct {
	Topic string // projects/P/topics/T, or T in the project of HandlerOptions.Topics
}

func (d *DoPubSub) fields() []field { return []field{{"topic", text(&d.Topic)}} }

// topicName is what Pub/Sub accepts as a topic, with or without its project.
var topicName = diag.Pattern(`^(projects/[a-z0-9][a-z0-9.:-]*/topics/)?[A-Za-z][A-Za-z0-9_.~+%-]+$`)

const minTopic, maxTopic = 3, 255 // bytes, without the project

func (d *DoPubSub) check(_ Spec, wrong report) {
	if n := len(path.Base(d.Topic)); !topicName().MatchString(d.Topic) || n < minTopic || n > maxTopic {
		wrong("topic", "topic must be projects/PROJECT/topics/TOPIC or TOPIC, not %s", diag.Quote(d.Topic))
	}
}

func (d *DoPubSub) handler(s Spec, o HandlerOptions) (Handler, error) {
	topic, err := o.Topics.fullName(d.Topic)
	return PubSub(o.Topics, topic, s.Timeout), err
}

func (d *DoPubSub) unperformable(ctx context.Context, o HandlerOptions) error {
	return o.Topics.Check(ctx, d.Topic)
}

// Topics publishes to the topics of DoPubSub. It is safe for concurrent use. It connects at its
// first message, and honours PUBSUB_EMULATOR_HOST then. Close it when done.
type Topics struct {
	project string
	options []option.ClientOption

	mu     sync.Mutex
	client *pubsub.TopicAdminClient
	closed bool
}

// NewTopics returns Topics that have not connected yet. project is that of topics which do not name
// one; it may be empty.
func NewTopics(project string, options ...option.ClientOption) *Topics {
	return &Topics{project: project, options: options}
}

// Close closes the connection, if there is one. Later attempts fail and can be repeated elsewhere.
func (t *Topics) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.client == nil {
		return nil
	}
	client := t.client
	t.client = nil
	if err := client.Close(); err != nil {
		return fmt.Errorf("closing the Pub/Sub client: %w", err)
	}
	return nil
}

// connect returns the client, made at the first call. If it could not be made, the next call tries
// again.
func (t *Topics) connect(ctx context.Context) (*pubsub.TopicAdminClient, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("the Pub/Sub client is closed")
	}
	if t.client == nil {
		client, err := pubsub.NewTopicAdminClient(context.WithoutCancel(ctx), t.options...)
		if err != nil {
			return nil, fmt.Errorf("making a Pub/Sub client: %w%s", err, logIn)
		}
		client.CallOptions.GetTopic = nil // Check must not be retried until its time is over
		t.client = client
	}
	return t.client, nil
}

// logIn says what to do about a client that could not be made: that is for want of credentials.
const logIn = "; run gcloud auth application-default login, or run where Google Cloud gives credentials"

// ErrNoTopic is wrapped by the error of Check for a topic that does not exist.
var ErrNoTopic = errors.New("does not exist")

// Check returns why nothing can be published to a topic as things are: there are no credentials,
// Pub/Sub cannot be reached, or the topic does not exist. It returns nil where that cannot be
// known, as without the permission to get topics, which publishing does not need. The topic has
// either name, as DoPubSub's. Errors: ErrNoProject, ErrNoTopic.
func (t *Topics) Check(ctx context.Context, topic string) error {
	topic, err := t.fullName(topic)
	if err != nil {
		return err
	}
	client, err := t.connect(ctx)
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

// PubSub returns a handler that publishes the payload to a topic, projects/P/topics/T, and waits
// for Pub/Sub's confirmation. timeout bounds one attempt; 0 is 30 s. The ordering key is the
// operation's key, so that a subscription with ordering gets the messages of one operation in
// order. The attributes are idempotencyKey, operation, effect, state and, where there is one,
// jobKind: the same on every attempt.
//
// Consumers get the message at least once, and detect a repeat by idempotencyKey. Pub/Sub may
// deliver a message twice, and an attempt whose outcome did not reach the ledger is published again
// as another message.
//
// Only what Pub/Sub can never accept is permanent: a message that is too large, or against the
// topic's schema. A missing topic or permission is a mistake in the deployment, which the operator
// fixes; such an attempt is retried with back-off, for hours.
func PubSub(topics *Topics, topic string, timeout time.Duration) Handler {
	if timeout == 0 {
		timeout = defaultTimeout
	}
	return HandlerFunc(func(ctx context.Context, task Task) ([]ledger.Write, error) {
		if len(task.Payload) > maxMessageBytes { // the client would copy it before it is refused
			return nil, Permanent(fmt.Errorf("the payload has %d bytes, more than the %d of a message", len(task.Payload),
				maxMessageBytes))
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		client, err := topics.connect(ctx)
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
			failure = Permanent(failure)
		}
		return nil, failure
	})
}

// message returns what is published for a task.
func message(task Task) *pubsubpb.PubsubMessage {
	attributes := map[string]string{
		"idempotencyKey": bounded(task.IdempotencyKey), "operation": bounded(string(task.Operation)), "effect": task.Effect,
	}
	var payload ledger.Payload
	if err := json.Unmarshal(task.Payload, &payload); err == nil { // else a consumer still has the data
		for name, value := range map[string]string{"state": string(payload.State), "jobKind": payload.JobKind} {
			if value != "" {
				attributes[name] = bounded(value)
			}
		}
	}
	return &pubsubpb.PubsubMessage{Data: task.Payload, Attributes: attributes, OrderingKey: attributes["operation"]}
}

// maxMessageBytes is the largest message that Pub/Sub accepts.
const maxMessageBytes = 10 << 20

// maxValueBytes is the largest ordering key and attribute value that Pub/Sub accepts.
const maxValueBytes = 1024

// bounded returns the value, or a hash of one that Pub/Sub would refuse. The data has it whole.
func bounded(value string) string {
	if len(value) <= maxValueBytes {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "sha256:" + hex.EncodeToString(sum[:])
}
