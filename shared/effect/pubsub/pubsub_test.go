package pubsub_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/effect/kinds"
	effectpubsub "github.com/opledger/opledger/shared/effect/pubsub"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/operation"
)

const key operation.Key = "batches/a"

const name = "publish"

const completions = "projects/p/topics/completions"

// parent is the trace context of the submission.
const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// completion is an attempt to publish the end of an operation.
func completion(n int) effect.Task {
	return effect.Task{Lease: ledger.Lease{
		Operation: key, Effect: name, IdempotencyKey: fmt.Sprintf("gemini:batches/a#publish@%d", n), Attempt: 1,
		Payload: fmt.Appendf(nil, `{"operation":"batches/a","state":"SUCCEEDED","jobKind":"review","result":{},`+
			`"metadata":{},"traceParent":%q,"n":%d}`, parent, n),
	}}
}

// A topicServer simulates publishing to Pub/Sub: it keeps messages, or fails on demand.
type topicServer struct {
	pubsubpb.UnimplementedPublisherServer

	mu   sync.Mutex
	fail codes.Code // of every call; OK takes the messages
	why  string     // the message of that
	sent []*pubsubpb.PubsubMessage
}

func (s *topicServer) Publish(_ context.Context, r *pubsubpb.PublishRequest) (*pubsubpb.PublishResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fail != codes.OK:
		return nil, status.Error(s.fail, s.why)
	case r.GetTopic() != completions:
		return nil, status.Error(codes.NotFound, "no such topic")
	}
	s.sent = append(s.sent, r.GetMessages()...)
	return &pubsubpb.PublishResponse{MessageIds: []string{fmt.Sprint(len(s.sent))}}, nil
}

func (s *topicServer) GetTopic(_ context.Context, r *pubsubpb.GetTopicRequest) (*pubsubpb.Topic, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.fail != codes.OK:
		return nil, status.Error(s.fail, s.why)
	case r.GetTopic() != completions:
		return nil, status.Error(codes.NotFound, "no such topic")
	}
	return &pubsubpb.Topic{Name: completions}, nil
}

// failing sets the status of the calls from now on.
func (s *topicServer) failing(code codes.Code) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = code
}

// because sets the message of the calls that fail.
func (s *topicServer) because(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = why
}

func (s *topicServer) messages() []*pubsubpb.PubsubMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// serveTopic starts a topicServer, and returns topics that reach it.
func serveTopic(t *testing.T) (*topicServer, *effectpubsub.Topics) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pubsubServer, server := &topicServer{why: "because"}, grpc.NewServer()
	pubsubpb.RegisterPublisherServer(server, pubsubServer)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	topics := effectpubsub.NewTopics("p", dial.Options(listener.Addr().String())...)
	t.Cleanup(func() {
		err := topics.Close()
		server.Stop()
		if err := errors.Join(err, <-served); err != nil {
			t.Error(err)
		}
	})
	return pubsubServer, topics
}

// TestPubSub: one attempt is one message: the payload itself, ordered by operation, with the key
// that identifies a repeat [K4].
func TestPubSub(t *testing.T) {
	t.Parallel()
	server, topics := serveTopic(t)
	handlers, err := kinds.Handlers([]spec.Spec{{Name: name, Do: &effectpubsub.Do{Topic: "completions"}}},
		kinds.Options{Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the same attempt again is another message with the same content
		if extra, err := handlers[name].Perform(t.Context(), completion(1)); err != nil || extra != nil {
			t.Fatalf("%v %v", extra, err)
		}
	}
	sent := server.messages()
	if len(sent) != 2 {
		t.Fatalf("%d messages", len(sent))
	}
	for _, m := range sent {
		want := map[string]string{
			"idempotencyKey": "gemini:batches/a#publish@1", "operation": "batches/a", "effect": "publish", "state": "SUCCEEDED",
			"jobKind": "review", "traceparent": parent,
		}
		if diff := cmp.Diff(want, m.GetAttributes()); diff != "" || m.GetOrderingKey() != "batches/a" ||
			string(m.GetData()) != string(completion(1).Payload) {
			t.Errorf("ordering key %q, data %s, attributes -want +got\n%s", m.GetOrderingKey(), m.GetData(), diff)
		}
	}
}

// TestPubSubLongNames: a key or an attribute that Pub/Sub would refuse is hashed, not lost.
func TestPubSubLongNames(t *testing.T) {
	t.Parallel()
	server, topics := serveTopic(t)
	task := completion(1)
	task.Operation = operation.Key("batches/" + strings.Repeat("x", 1100))
	task.IdempotencyKey = "gemini:" + string(task.Operation) + "#publish"
	task.Payload = []byte("not what the ledger writes")
	if _, err := effectpubsub.New(topics, completions, 0).Perform(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	m := server.messages()[0]
	if len(m.GetAttributes()) != 3 || !strings.HasPrefix(m.GetOrderingKey(), "sha256:") ||
		m.GetOrderingKey() != m.GetAttributes()["operation"] ||
		!strings.HasPrefix(m.GetAttributes()["idempotencyKey"], "sha256:") ||
		m.GetAttributes()["idempotencyKey"] == m.GetOrderingKey() {
		t.Errorf("ordering key %q, attributes %v", m.GetOrderingKey(), m.GetAttributes())
	}
}

// TestPubSubErrors: what an operator can fix is retried, and the error names the topic. What
// Pub/Sub can never accept is permanent.
func TestPubSubErrors(t *testing.T) {
	t.Parallel()
	for code, permanent := range map[codes.Code]bool{
		codes.NotFound: false, codes.PermissionDenied: false, codes.Unauthenticated: false, codes.FailedPrecondition: false,
		codes.Unavailable: false, codes.Internal: false, codes.InvalidArgument: true,
	} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			server, topics := serveTopic(t)
			server.failing(code)
			_, err := effectpubsub.New(topics, completions, 300*time.Millisecond).Perform(t.Context(), completion(1))
			if err == nil || effect.IsPermanent(err) != permanent || !strings.Contains(err.Error(), completions) {
				t.Errorf("%v, want permanent %t", err, permanent)
			}
		})
	}
}

// TestPubSubRecovers: after an error the same operation can still be published.
func TestPubSubRecovers(t *testing.T) {
	t.Parallel()
	server, topics := serveTopic(t)
	h := effectpubsub.New(topics, completions, 0)
	server.failing(codes.NotFound)
	if _, err := h.Perform(t.Context(), completion(1)); err == nil || effect.IsPermanent(err) {
		t.Fatalf("there is no topic: %v", err)
	}
	server.failing(codes.OK)
	if _, err := h.Perform(t.Context(), completion(1)); err != nil || len(server.messages()) != 1 {
		t.Error(err)
	}
}

// TestPubSubEnds: an attempt ends with its context or its timeout, and nothing is sent after that.
func TestPubSubEnds(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	topics := effectpubsub.NewTopics("p", dial.Options(listener.Addr().String())...)
	if _, err := effectpubsub.New(topics, completions, 20*time.Millisecond).Perform(t.Context(),
		completion(1)); err == nil || effect.IsPermanent(err) {
		t.Errorf("no answer: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := effectpubsub.New(topics, completions, time.Hour).Perform(ctx, completion(1)); err == nil ||
		effect.IsPermanent(err) {
		t.Errorf("the context ended: %v", err)
	}
	for range 2 {
		if err := topics.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := effectpubsub.New(topics, completions, 0).Perform(t.Context(), completion(1)); err == nil ||
		effect.IsPermanent(err) {
		t.Errorf("closed: %v", err)
	}
}

// TestPubSubEcho: a credential that Pub/Sub or its token source repeats is not in the error. The
// code is.
func TestPubSubEcho(t *testing.T) {
	t.Parallel()
	server, topics := serveTopic(t)
	server.failing(codes.InvalidArgument)
	server.because("Bearer ya29.a0AfH6SMBx_1234567 will not do")
	_, err := effectpubsub.New(topics, completions, 0).Perform(t.Context(), completion(1))
	if !effect.IsPermanent(err) || strings.Contains(err.Error(), "ya29") ||
		!strings.Contains(err.Error(), "[credential] will not do") {
		t.Error(err)
	}
}

// TestTopicUnperformable: a topic that does not exist, or a Pub/Sub that cannot be reached, is
// known without a message. What may be for want of a permission that publishing does not need is no
// reason.
func TestTopicUnperformable(t *testing.T) {
	t.Parallel()
	server, topics := serveTopic(t)
	why := func(topics *effectpubsub.Topics, topic string) error {
		return (&effectpubsub.Do{Topic: topic}).Unperformable(t.Context(), topics)
	}
	if err := why(topics, "completions"); err != nil {
		t.Error(err)
	}
	if err := why(topics, "projects/p/topics/other"); !errors.Is(err, effectpubsub.ErrNoTopic) ||
		err.Error() != "the topic projects/p/topics/other does not exist" {
		t.Error(err)
	}
	for code, known := range map[codes.Code]bool{
		codes.Unavailable: true, codes.Unauthenticated: true,
		codes.PermissionDenied: false, codes.DeadlineExceeded: false, codes.Internal: false, codes.ResourceExhausted: false,
	} {
		server.failing(code)
		if err := why(topics, "completions"); (err != nil) != known {
			t.Errorf("%v: %v", code, err)
		}
	}
	if n := len(server.messages()); n != 0 {
		t.Errorf("%d messages were published", n)
	}
	gone := effectpubsub.NewTopics("p", dial.Options("127.0.0.1:1")...)
	if err := why(gone, "completions"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	if err := gone.Close(); err != nil {
		t.Error(err)
	}
}
