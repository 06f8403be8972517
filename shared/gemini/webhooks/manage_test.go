package webhooks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genai/interactions/models/operations"
	sdk "google.golang.org/genai/interactions/models/webhooks"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
)

// TestLife: create, find, get, ping, rotate, enable and delete are one correct request each [G3].
func TestLife(t *testing.T) {
	t.Parallel()
	w, ctx := start(t), t.Context()
	created, err := w.client.Create(ctx, "opledger", ours)
	if err != nil {
		t.Fatal(err)
	}
	if created.ID == "" || created.Name != "opledger" || created.URI != ours || created.State != webhooks.Enabled ||
		!strings.HasPrefix(created.Secret, "whsec_") || len(created.Secrets) != 1 || !created.Secrets[0].Of(created.Secret) {
		t.Errorf("%+v", created.Webhook)
	}
	if diff := cmp.Diff([]string{"batch.cancelled", "interaction.cancelled"}, created.Refused); diff != "" {
		t.Error(diff)
	}
	printed := fmt.Sprintf("%v %+v %#v %s", created, created, created, created)
	if strings.Contains(printed, created.Secret) {
		t.Errorf("printed %s", printed)
	}
	w.requests()

	id := created.ID
	if err := w.sim.SetWebhookState(id, geminisim.WebhookDisabledDueToFailedDeliveries); err != nil {
		t.Fatal(err)
	}
	hook, err := w.client.Get(ctx, id)
	if err != nil || hook.State != webhooks.DisabledByFailures || !slices.Equal(hook.Events, webhooks.AcceptedEvents()) {
		t.Errorf("%+v, %v", hook, err)
	}
	if hook, err = w.client.Enable(ctx, id); err != nil || hook.State != webhooks.Enabled {
		t.Errorf("%+v, %v", hook, err)
	}
	if err := w.client.Ping(ctx, id); err != nil {
		t.Error(err)
	}
	second, err := w.client.Rotate(ctx, id, false)
	if err != nil || second == created.Secret {
		t.Error(err)
	}
	found, err := w.client.Find(ctx, "https://WEBHOOK.example:443")
	if err != nil || len(found) != 1 || len(found[0].Secrets) != 2 || !found[0].Secrets[0].Of(second) ||
		!found[0].Secrets[1].Of(created.Secret) || found[0].Secrets[1].Expires.IsZero() {
		t.Errorf("%+v, %v", found, err)
	}
	third, err := w.client.Rotate(ctx, id, true)
	if err != nil {
		t.Error(err)
	}
	if hook, err = w.client.Get(ctx, id); err != nil || len(hook.Secrets) != 1 || !hook.Secrets[0].Of(third) {
		t.Errorf("%+v, %v", hook, err)
	}
	if err := w.client.Delete(ctx, id); err != nil {
		t.Error(err)
	}
	if found, err := w.client.Find(ctx, ours); err != nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	at := "/v1beta/webhooks/" + id
	want := []string{
		"GET " + at, "PATCH " + at + ` {"state":"enabled"}`, "POST " + at + ":ping",
		"POST " + at + `:rotateSigningSecret {"revocation_behavior":"revoke_previous_secrets_after_h24"}`,
		"GET /v1beta/webhooks?page_size=1000",
		"POST " + at + `:rotateSigningSecret {"revocation_behavior":"revoke_previous_secrets_immediately"}`,
		"GET " + at, "DELETE " + at, "GET /v1beta/webhooks?page_size=1000",
	}
	if diff := cmp.Diff(want, w.requests()); diff != "" {
		t.Errorf("requests, -want +got\n%s", diff)
	}
}

// TestListPages: all pages count, and pages without end are an error.
func TestListPages(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.instead(func(rw http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("page_token") == "" {
			says(rw, 200, `{"webhooks":[{"id":"a","uri":"https://a.example/"}],"next_page_token":"t"}`)
		} else {
			says(rw, 200, `{"webhooks":[{"id":"b","uri":"`+ours+`","state":"enabled"}]}`)
		}
		return true
	})
	found, err := w.client.Find(t.Context(), ours)
	if err != nil || len(found) != 1 || found[0].ID != "b" {
		t.Errorf("%+v, %v", found, err)
	}
	w.instead(func(rw http.ResponseWriter, _ *http.Request) bool {
		says(rw, 200, `{"next_page_token":"t"}`)
		return true
	})
	_, err = w.client.List(t.Context())
	wantError(t, err, 200, "pages; try again")
}

// TestNoOtherRequest: an id that would change the request is not sent.
func TestNoOtherRequest(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, id := range []string{"", "a/b", "..", "a:ping", "a?b", "a b", "ü", "a%2Fb"} {
		if err := w.client.Delete(t.Context(), id); err == nil || !strings.Contains(err.Error(), "id") {
			t.Errorf("%q: %v", id, err)
		}
	}
	if sent := w.requests(); len(sent) != 0 {
		t.Errorf("sent %s", sent)
	}
}

// TestAsSDK: each call is the request that the official SDK makes for the same, and finds in the
// answer what the SDK finds.
func TestAsSDK(t *testing.T) {
	t.Parallel()
	w, ctx := start(t), t.Context()
	created, err := w.client.Create(ctx, "opledger", ours)
	if err != nil {
		t.Fatal(err)
	}
	id, name, size := created.ID, "opledger", 1000
	enabled, now := sdk.WebhookUpdateStateEnabled, sdk.RevocationBehaviorRevokePreviousSecretsImmediately
	later := sdk.RevocationBehaviorRevokePreviousSecretsAfterH24
	rotate := func(how *sdk.RevocationBehavior) error {
		_, err := w.sdk.Webhooks.RotateSigningSecret(ctx, operations.RotateSigningSecretRequest{
			ID: id, Body: sdk.RotateSigningSecretRequest{RevocationBehavior: how},
		})
		return err
	}
	events := []sdk.WebhookSubscribedEvent{}
	for _, event := range webhooks.Events() {
		events = append(events, sdk.WebhookSubscribedEvent(event))
	}
	for what, ways := range map[string][2]func() error{
		"create": {
			func() error {
				_, err := w.sdk.Webhooks.Create(ctx, operations.CreateWebhookRequest{
					Body: sdk.WebhookInput{Name: &name, SubscribedEvents: events, URI: ours},
				})
				return err
			},
			func() error { _, err := w.client.Create(ctx, name, ours); return err },
		},
		"list": {
			func() error {
				_, err := w.sdk.Webhooks.List(ctx, operations.ListWebhooksRequest{PageSize: &size})
				return err
			},
			func() error { _, err := w.client.List(ctx); return err },
		},
		"get": {
			func() error { _, err := w.sdk.Webhooks.Get(ctx, operations.GetWebhookRequest{ID: id}); return err },
			func() error { _, err := w.client.Get(ctx, id); return err },
		},
		"ping": {
			func() error { _, err := w.sdk.Webhooks.Ping(ctx, operations.PingWebhookRequest{ID: id}); return err },
			func() error { return w.client.Ping(ctx, id) },
		},
		"rotate": {
			func() error { return rotate(&later) },
			func() error { _, err := w.client.Rotate(ctx, id, false); return err },
		},
		"rotate now": {
			func() error { return rotate(&now) },
			func() error { _, err := w.client.Rotate(ctx, id, true); return err },
		},
		"enable": {
			func() error {
				_, err := w.sdk.Webhooks.Update(ctx, operations.UpdateWebhookRequest{
					ID: id, Body: sdk.WebhookUpdate{State: &enabled},
				})
				return err
			},
			func() error { _, err := w.client.Enable(ctx, id); return err },
		},
		"delete": {
			func() error {
				_, err := w.sdk.Webhooks.Delete(ctx, operations.DeleteWebhookRequest{ID: "h"})
				return err
			},
			func() error { return w.client.Delete(ctx, "h") },
		},
	} {
		if what == "create" || what == "delete" { // neither is to change what the others see
			w.instead(func(rw http.ResponseWriter, _ *http.Request) bool { says(rw, 200, `{"id":"h","uri":"x"}`); return true })
		}
		w.requests()
		for _, way := range ways {
			if err := way(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		forms := w.forms
		if sent := w.requests(); len(sent) != 2 || sent[0] != sent[1] || forms[0] != forms[1] {
			t.Errorf("%s: requests of the SDK and of the client: %q %q", what, sent, forms)
		}
		w.instead(nil)
	}
	for _, now := range []bool{true, false} { // whatever was rotated before, two secrets are left
		if _, err := w.client.Rotate(ctx, id, now); err != nil {
			t.Fatal(err)
		}
	}
	theirs, err := w.sdk.Webhooks.Get(ctx, operations.GetWebhookRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	hook, err := w.client.Get(ctx, id)
	if err != nil || len(hook.Secrets) != 2 {
		t.Fatalf("%+v, %v", hook, err)
	}
	want := webhooks.Webhook{
		ID: *theirs.Webhook.ID, Name: *theirs.Webhook.Name, URI: theirs.Webhook.URI, State: string(*theirs.Webhook.State),
	}
	for _, event := range theirs.Webhook.SubscribedEvents {
		want.Events = append(want.Events, string(event))
	}
	for _, secret := range theirs.Webhook.SigningSecrets {
		listed := webhooks.Secret{Truncated: *secret.TruncatedSecret}
		if secret.ExpireTime != nil {
			listed.Expires = *secret.ExpireTime
		}
		want.Secrets = append(want.Secrets, listed)
	}
	if diff := cmp.Diff(want, hook); diff != "" {
		t.Errorf("a webhook, -the SDK's +the client's\n%s", diff)
	}
}
