package webhooks_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
