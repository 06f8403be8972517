package staging

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/emulator/dial"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// TestLife: the four functions, each built from its staged package with its deployment's settings,
// take an operation from its registration over Gemini's delivery, the ledger, Pub/Sub's push and a
// side effect to DONE [L1, L2, W3, S2, G1]; Reconcile has nothing left to do [R5]. Only Google
// itself is emulated.
func TestLife(t *testing.T) {
	t.Parallel()
	firestoreHost, pubsubHost := harness.Firestore(t), harness.PubSub(t)
	project, topic := harness.ProjectID(t), "opledger-effects"
	received := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		received <- r.Header.Get("Idempotency-Key") + " " + string(body)
	}))
	t.Cleanup(receiver.Close) // after the functions, which may have a connection open
	sim := geminisim.New(geminisim.Config{})
	t.Cleanup(sim.Close)
	gemini := httptest.NewServer(sim.Handler())
	t.Cleanup(gemini.Close)

	given := map[string]string{
		"GOOGLE_CLOUD_PROJECT": project, "OPLEDGER_WEBHOOK_SECRET": secret, "GOOGLE_GEMINI_BASE_URL": gemini.URL,
		"OPLEDGER_EFFECT_ALLOW_PRIVATE": "true", // the receiver is on this machine
		"OPLEDGER_EFFECTS":              fmt.Sprintf("[{name: publish, do: http, url: %q, on: [SUCCEEDED]}]", receiver.URL),
	}
	running := map[string]*server{}
	for function, target := range functions {
		variables := append(environment(t, function, given), "FIRESTORE_EMULATOR_HOST="+firestoreHost,
			"PUBSUB_EMULATOR_HOST="+pubsubHost)
		running[function] = start(t, build(t, function).binary, target, variables...)
	}
	for function, request := range firstRequests {
		running[function].first(t, request.method, request.path, request.body)
	}
	subscribe(t, pubsubHost, project, topic, running["effects"].url)

	const name = "batches/staged"
	if status, answer, err := running["register"].send(http.MethodPost, "/", fmt.Sprintf(`{"name":%q}`, name),
		nil); status != http.StatusCreated {
		t.Fatalf("registering: %d %s %v\n%s", status, answer, err, running["register"].printed())
	}
	now := time.Now()
	body := fmt.Sprintf(`{"type":"batch.succeeded","version":"v1","timestamp":%q,"data":{"id":%q}}`,
		now.UTC().Format(time.RFC3339Nano), name)
	status, answer, err := running["webhook"].send(http.MethodPost, "/", body, http.Header{
		"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {geminisim.Sign(secret, "msg_1", now, []byte(body))},
	})
	if status != http.StatusOK || !strings.Contains(answer, `"applied"`) {
		t.Fatalf("the delivery: %d %s %v\n%s", status, answer, err, running["webhook"].printed())
	}

	select {
	case got := <-received:
		if !strings.HasPrefix(got, "gemini:batches/staged#publish ") || !strings.Contains(got, `"state":"SUCCEEDED"`) {
			t.Errorf("the effect sent %s", got)
		}
	case <-time.After(patience):
		t.Fatalf("no effect within %v\n%s", patience, running["effects"].printed())
	}
	story := untilDone(t, project, firestoreHost)
	if len(story.Deliveries) != 1 || len(story.Effects) != 1 || story.Effects[0].State != ledger.EffectDone {
		t.Errorf("the story is %+v", story)
	}
	status, answer, err = running["reconcile"].send(http.MethodPost, "/", "", nil)
	if status != http.StatusOK || !strings.Contains(answer, `"effectsRequeued":0`) || !strings.Contains(answer,
		`"errors":0`) {
		t.Errorf("the pass: %d %s %v\n%s", status, answer, err, running["reconcile"].printed())
	}
}

// subscribe makes the topic, and a push subscription to the Effects function like that of a
// deployment. It is deleted before the function ends: the emulator would push to a closed address
// for ever.
func subscribe(t *testing.T, host, project, topic, url string) {
	t.Helper()
	admin, err := pubsub.NewClient(t.Context(), project, dial.Options(host)...)
	if err != nil {
		t.Fatal(err)
	}
	topicName, name := "projects/"+project+"/topics/"+topic, "projects/"+project+"/subscriptions/"+topic
	if _, err := admin.TopicAdminClient.CreateTopic(t.Context(), &pubsubpb.Topic{Name: topicName}); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: name, Topic: topicName, AckDeadlineSeconds: 600,
		PushConfig: &pubsubpb.PushConfig{PushEndpoint: url + "/" + topicName},
		RetryPolicy: &pubsubpb.RetryPolicy{
			MinimumBackoff: durationpb.New(time.Second), MaximumBackoff: durationpb.New(10 * time.Second),
		},
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := admin.SubscriptionAdminClient.DeleteSubscription(ctx,
			&pubsubpb.DeleteSubscriptionRequest{Subscription: name}); err != nil {
			t.Error(err)
		}
		if err := admin.Close(); err != nil {
			t.Error(err)
		}
	})
}

// untilDone returns the operation's story once its effect is recorded as done, which is after the
// receiver saw it.
func untilDone(t *testing.T, project, host string) ledger.Story {
	t.Helper()
	store, err := firestore.Open(t.Context(), project, "opledger", dial.Options(host)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	l, err := ledger.New(store, ledger.DefaultSettings(), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var story ledger.Story
	eventually(t, 20*time.Millisecond, "the effect is done", func() bool {
		if story, err = l.Operations.Show(t.Context(), "batches/staged"); err != nil {
			t.Fatal(err)
		}
		return story.Record.Effects["publish"] == operation.EffectDone
	})
	return story
}
