package topic_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"go.uber.org/goleak"
	"google.golang.org/api/option"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/topic"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

func TestMain(m *testing.M) {
	code := harness.Main(m)
	// OpenCensus, which the client links, starts one goroutine for the life of the process.
	if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")); err != nil &&
		code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// A project is one on the emulator, with a topic and a subscription to it.
type project struct {
	*testing.T
	id    string
	admin *pubsub.Client
}

const name = "effects"

func newProject(t *testing.T) project {
	t.Helper()
	p := project{T: t, id: harness.ProjectID(t)}
	var err error
	if p.admin, err = pubsub.NewClient(t.Context(), p.id, dial.Options(harness.PubSub(t))...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.admin.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = p.admin.TopicAdminClient.CreateTopic(t.Context(), &pubsubpb.Topic{Name: p.full(name)})
	if err == nil {
		_, err = p.admin.SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{
			Name: p.subscription(), Topic: p.full(name),
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p project) full(name string) string { return "projects/" + p.id + "/topics/" + name }
func (p project) subscription() string    { return "projects/" + p.id + "/subscriptions/" + name }

func (p project) open(name string) *topic.Topic {
	p.Helper()
	to, err := topic.Open(p.Context(), p.id, name, dial.Options(harness.PubSub(p))...)
	if err != nil {
		p.Fatal(err)
	}
	return to
}

// close closes a topic, which must succeed.
func (p project) close(to *topic.Topic) {
	p.Helper()
	if err := to.Close(); err != nil {
		p.Error(err)
	}
}

// pull pulls n messages and returns their data, sorted.
func (p project) pull(n int) (data []string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	for len(data) < n {
		request := &pubsubpb.PullRequest{Subscription: p.subscription(), MaxMessages: int32(n)}
		pulled, err := p.admin.SubscriptionAdminClient.Pull(ctx, request)
		if err != nil {
			p.Fatalf("%d of %d messages came: %v", len(data), n, err)
		}
		var ids []string
		for _, received := range pulled.GetReceivedMessages() {
			data = append(data, string(received.GetMessage().GetData()))
			ids = append(ids, received.GetAckId())
		}
		if len(ids) == 0 {
			continue
		}
		got := &pubsubpb.AcknowledgeRequest{Subscription: p.subscription(), AckIds: ids}
		if err := p.admin.SubscriptionAdminClient.Acknowledge(ctx, got); err != nil {
			p.Fatal(err)
		}
	}
	slices.Sort(data)
	return data
}

// TestPublish: when it returns, Pub/Sub has the message, in the form that the effects function
// reads, whether the topic was named by its full name or by its last part.
func TestPublish(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	for _, named := range []string{name, p.full(name)} {
		to := p.open(named)
		m := ledger.Message{Operation: "batches/a", Effect: "publish", Attempt: 3}
		if err := to.Publish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		p.close(to)
		got := p.pull(1)
		if want := `{"operation":"batches/a","effect":"publish","attempt":3}`; got[0] != want {
			t.Errorf("%s: published %s, want %s", named, got[0], want)
		}
		if back, err := ledger.ParseMessage([]byte(got[0])); err != nil || back != m {
			t.Errorf("%s: it is read as %+v, %v", named, back, err)
		}
	}
}

// TestPublishAtOnce: many concurrent callers, one topic; every message arrives, and none waits for
// the next.
func TestPublishAtOnce(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	to := p.open(name)
	defer p.close(to)
	var group sync.WaitGroup
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf(`{"operation":"batches/%02d","effect":"publish"}`, i))
		group.Go(func() {
			m := ledger.Message{Operation: operation.Key(fmt.Sprintf("batches/%02d", i)), Effect: "publish"}
			if err := to.Publish(t.Context(), m); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := slices.Compact(p.pull(len(want))); !slices.Equal(got, want) {
		t.Errorf("pulled %q", got)
	}
}

// TestNoTopic: a topic that does not exist is an error of Publish, not of Open, and names it.
func TestNoTopic(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	to := p.open("gone")
	defer p.close(to)
	if err := to.Publish(t.Context(), ledger.Message{}); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("got %v", err)
	}
}

// TestNoCredentials: a client that cannot be made fails Open, and each message of New's topic.
func TestNoCredentials(t *testing.T) {
	t.Parallel()
	none := option.WithAuthCredentialsFile(option.ServiceAccount, filepath.Join(t.TempDir(), "none.json"))
	if to, err := topic.Open(t.Context(), "p", name, none); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("opened %v, %v", to, err)
	}
	to := topic.New("p", name, none)
	for range 2 {
		if err := to.Publish(t.Context(), ledger.Message{}); err == nil || !strings.Contains(err.Error(), "none.json") {
			t.Errorf("published: %v", err)
		}
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
}

// TestDeadline: a publisher waits no longer than its context, whatever Pub/Sub does; the sweep
// publishes again [R5]. Closing waits for no longer than a message is repeated.
func TestDeadline(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections, and answers nothing
	if err != nil {
		t.Fatal(err)
	}
	to, err := topic.Open(t.Context(), "p", name, dial.Options(listener.Addr().String())...)
	if err != nil {
		t.Fatal(err)
	}
	if topic.PublishTimeout > 10*time.Second {
		t.Errorf("a message is repeated for %v, which a process that ends does not have", topic.PublishTimeout)
	}
	to.RepeatFor(200 * time.Millisecond)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := to.Publish(ctx, ledger.Message{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	// Closing does not wait a minute for it either, which is what the client does by itself: a
	// process that ends has less.
	began = time.Now()
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("closing took %v", took)
	}
}

// TestClosed: nothing is published through a closed topic, and no call reports that it was.
func TestClosed(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	to := p.open(name)
	p.close(to)
	if err := to.Publish(t.Context(), ledger.Message{}); err == nil {
		t.Error("no error")
	}
}
