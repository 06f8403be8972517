package geminisim_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"google.golang.org/genai/interactions/models/apierrors"
	"google.golang.org/genai/interactions/models/operations"
	"google.golang.org/genai/interactions/models/webhooks"
	"google.golang.org/genai/interactions/retry"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// noRetries switches off what this half of the SDK does by default: four retries, also of a POST.
var noRetries = operations.WithRetries(retry.Config{Strategy: "none"})

func TestWebhooksThroughSDK(t *testing.T) {
	t.Parallel()
	rc := &receiver{}
	sim, client, _ := serve(t, geminisim.Config{HTTP: rc.client()})
	ctx := t.Context()

	name := "opledger"
	created, err := client.Webhooks.Create(ctx, operations.CreateWebhookRequest{Body: webhooks.WebhookInput{
		Name: &name, URI: "https://receiver.example/webhook",
		SubscribedEvents: []webhooks.WebhookSubscribedEvent{"batch.succeeded", "video.generated"},
	}}, noRetries)
	if err != nil {
		t.Fatal(err)
	}
	hook := created.Webhook
	secret := *hook.NewSigningSecret
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) != 32 || !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("secret %q: %v", secret, err)
	}
	if len(*hook.ID) != 36 || strings.Contains(*hook.ID, "/") || *hook.State != webhooks.WebhookStateEnabled ||
		*hook.Name != name {
		t.Errorf("created %+v", hook)
	}

	got, err := client.Webhooks.Get(ctx, operations.GetWebhookRequest{ID: *hook.ID}, noRetries)
	if err != nil {
		t.Fatal(err)
	}
	if got.Webhook.NewSigningSecret != nil {
		t.Error("get gives the secret away")
	}
	if secrets := got.Webhook.SigningSecrets; len(secrets) != 1 ||
		*secrets[0].TruncatedSecret != "whsec_..."+secret[len(secret)-4:] {
		t.Errorf("secrets %+v", secrets)
	}

	uri := "https://receiver.example/elsewhere"
	updated, err := client.Webhooks.Update(
		ctx, operations.UpdateWebhookRequest{ID: *hook.ID, Body: webhooks.WebhookUpdate{URI: &uri}}, noRetries,
	)
	if err != nil || updated.Webhook.URI != uri || *updated.Webhook.Name != name {
		t.Errorf("updated %+v, %v", updated, err)
	}

	if _, err := client.Webhooks.Ping(ctx, operations.PingWebhookRequest{ID: *hook.ID}, noRetries); err != nil {
		t.Error(err)
	}
	wait(t, sim, func(st geminisim.Stats) bool { return st.Pings == 1 && st.Accepted == 1 && st.Open == 0 })
	ping := rc.all()[0]
	verify(t, ping, secret)
	if ping.Event.Type != "ping" || ping.Event.Data != nil {
		t.Errorf("ping %s", ping.Body)
	}

	rotated, err := client.Webhooks.RotateSigningSecret(
		ctx, operations.RotateSigningSecretRequest{ID: *hook.ID}, noRetries,
	)
	if err != nil || *rotated.WebhookRotateSigningSecretResponse.Secret == secret {
		t.Errorf("rotated %+v, %v", rotated, err)
	}
	list, err := client.Webhooks.List(ctx, operations.ListWebhooksRequest{}, noRetries)
	if err != nil || len(list.WebhookListResponse.Webhooks) != 1 ||
		len(list.WebhookListResponse.Webhooks[0].SigningSecrets) != 2 {
		t.Errorf("list %+v, %v", list, err)
	}
	if expire := list.WebhookListResponse.Webhooks[0].SigningSecrets[1].ExpireTime; expire == nil ||
		time.Until(*expire) > 24*time.Hour {
		t.Errorf("the old secret expires %v", expire)
	}

	if _, err := client.Webhooks.Delete(ctx, operations.DeleteWebhookRequest{ID: *hook.ID}, noRetries); err != nil {
		t.Error(err)
	}
	_, err = client.Webhooks.Get(ctx, operations.GetWebhookRequest{ID: *hook.ID}, noRetries)
	wantStatus(t, err, http.StatusNotFound)
	list, err = client.Webhooks.List(ctx, operations.ListWebhooksRequest{}, noRetries)
	if err != nil || len(list.WebhookListResponse.Webhooks) != 0 {
		t.Errorf("list after the deletion %+v, %v", list, err)
	}
}

func wantStatus(t *testing.T, err error, status int) *apierrors.APIError {
	t.Helper()
	var api *apierrors.APIError
	if !errors.As(err, &api) || api.StatusCode != status {
		t.Fatalf("error %v, want an APIError with status %d", err, status)
	}
	return api
}

func TestWebhookRefusals(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{})
	defer sim.Close()
	id, _ := register(t, sim)
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "", `{"uri":"https://r.example/"}`, 400},
		{"POST", "", `{"subscribed_events":["batch.failed"]}`, 400},
		{"POST", "", `{"uri":"https://r.example/","subscribed_events":[]}`, 400},
		{"POST", "", `{"uri":"r.example","subscribed_events":["batch.failed"]}`, 400},
		{"PATCH", "/" + id, `{"subscribedEvents":["batch.failed"]}`, 400},
		{"PATCH", "/" + id, `{"state":"asleep"}`, 400},
		{"PATCH", "/nosuch", `{"state":"disabled"}`, 404},
		{"POST", "/" + id + ":rotateSigningSecret", `{"revocation_behavior":"REVOKE_PREVIOUS_SECRETS_IMMEDIATELY"}`, 400},
		{"POST", "/" + id + "/rotate_secret", `{}`, 404},
		{"POST", "/nosuch:ping", "", 404},
	} {
		if w := call(t, sim, c.method, "/v1beta/webhooks"+c.path, c.body); w.Code != c.want {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, w.Code, w.Body, c.want)
		}
	}
	if w := call(t, sim, "POST", "/v1beta/webhooks/"+id+":ping", ""); w.Body.String() != "{}" ||
		w.Header().Get("Content-Type") == "" {
		t.Errorf("ping answers %q %v", w.Body, w.Header())
	}
}

func TestListWebhooksInPages(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	var want, got []string
	for range 3 {
		id, _ := register(t, sim)
		want = append(want, id)
	}
	size, token := 2, (*string)(nil)
	for range 2 {
		list, err := client.Webhooks.List(
			t.Context(), operations.ListWebhooksRequest{PageSize: &size, PageToken: token}, noRetries,
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range list.WebhookListResponse.Webhooks {
			got = append(got, *h.ID)
		}
		token = list.WebhookListResponse.NextPageToken
	}
	if diff := cmp.Diff(want, got); diff != "" || token != nil {
		t.Errorf("%s, next page %v", diff, token)
	}
}

func TestRotationSignsTwiceForADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{}
		sim := geminisim.New(geminisim.Config{HTTP: rc.client()})
		defer sim.Close()
		id, first := register(t, sim)
		rotate := func(body string) string {
			w := call(t, sim, "POST", "/v1beta/webhooks/"+id+":rotateSigningSecret", body)
			_, secret, _ := strings.Cut(w.Body.String(), `"secret":"`)
			return strings.TrimSuffix(secret, `"}`)
		}
		deliver := func() got {
			if _, _, err := sim.Deliver(t.Context(), geminisim.Delivery{Type: "batch.succeeded",
				Name: "batches/x"}); err != nil {
				t.Fatal(err)
			}
			all := rc.all()
			return all[len(all)-1]
		}
		signers := func(d got) []string {
			var names []string
			for _, sig := range strings.Fields(d.Header.Get("webhook-signature")) {
				names = append(names, sig[:5])
			}
			return names
		}

		second := rotate(`{"revocation_behavior":"revoke_previous_secrets_after_h24"}`)
		d := deliver()
		if len(signers(d)) != 2 {
			t.Errorf("signatures %v, want two", signers(d))
		}
		verify(t, d, first)
		verify(t, d, second)

		time.Sleep(24*time.Hour + time.Second) // the bubble's clock
		d = deliver()
		verify(t, d, second)
		if len(signers(d)) != 1 {
			t.Errorf("signatures after a day: %v", signers(d))
		}

		third := rotate(`{"revocation_behavior":"revoke_previous_secrets_immediately"}`)
		d = deliver()
		verify(t, d, third)
		if len(signers(d)) != 1 || len(slices.Compact([]string{first, second, third})) != 3 {
			t.Errorf("signatures after revoking at once: %v", signers(d))
		}
	})
}

// verify checks a delivery as a receiver would, with the Standard Webhooks library and its
// tolerance of five minutes.
func verify(t *testing.T, d got, secret string) {
	t.Helper()
	wh, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := wh.Verify([]byte(d.Body), d.Header); err != nil {
		t.Errorf("delivery %v of %s: %v", d.Header, d.Body, err)
	}
}

func TestDisabledWebhookGetsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rc := &receiver{answer: func(int, got) (int, error) { return 500, nil }}
		sim := geminisim.New(geminisim.Config{HTTP: rc.client()})
		defer sim.Close()
		id, _ := register(t, sim)
		for _, name := range []string{"before", "after"} {
			sim.Script(name, geminisim.Script{Hold: geminisim.StateRunning})
			submit(t, sim, name)
		}
		settle(t, sim, "before")
		synctest.Wait() // the first attempt has failed
		if err := sim.SetWebhookState(id, geminisim.WebhookDisabledDueToFailedDeliveries); err != nil {
			t.Fatal(err)
		}
		settle(t, sim, "after")
		waitWithin(t, week, sim, func(st geminisim.Stats) bool { return st.Open == 0 })
		if n := len(rc.all()); n != 1 {
			t.Errorf("%d attempts reached the receiver, want the one before", n)
		}
		infos := sim.Batches()
		if infos[0].Completion != geminisim.CompletionLost || infos[0].Reached != 1 ||
			infos[1].Completion != geminisim.CompletionNone {
			t.Errorf("%+v", infos)
		}
		w := call(t, sim, "GET", "/v1beta/webhooks/"+id, "")
		if !strings.Contains(w.Body.String(), `"state":"disabled_due_to_failed_deliveries"`) {
			t.Errorf("webhook %s", w.Body)
		}
		rc.answer = nil
		if w := call(t, sim, "PATCH", "/v1beta/webhooks/"+id, `{"state":"enabled"}`); w.Code != 200 {
			t.Errorf("enabling: %d", w.Code)
		}
		settle(t, sim, "after")
		waitWithin(t, week, sim, func(st geminisim.Stats) bool { return st.Accepted == 1 })
	})
}

func settle(t *testing.T, sim *geminisim.Sim, name string) {
	t.Helper()
	if err := sim.SetState(name, geminisim.StateSucceeded); err != nil {
		t.Fatal(err)
	}
}
