package geminisim_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genai/interactions/models/operations"
	"google.golang.org/genai/interactions/models/webhooks"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

func subscribe(events ...webhooks.WebhookSubscribedEvent) operations.CreateWebhookRequest {
	return operations.CreateWebhookRequest{
		Body: webhooks.WebhookInput{URI: "https://receiver.example/", SubscribedEvents: events},
	}
}

func TestUnknownEventsAreRefusedNamingTheSeven(t *testing.T) {
	t.Parallel()
	_, client, _ := serve(t, geminisim.Config{})
	made, err := client.Webhooks.Create(t.Context(), subscribe("batch.succeeded"), noRetries)
	if err != nil {
		t.Fatal(err)
	}
	_, created := client.Webhooks.Create(t.Context(), subscribe("batch.succeeded", "batch.cancelled"), noRetries)
	_, updated := client.Webhooks.Update(
		t.Context(),
		operations.UpdateWebhookRequest{ID: *made.Webhook.ID, Body: webhooks.WebhookUpdate{
			SubscribedEvents: []webhooks.WebhookUpdateSubscribedEvent{"interaction.cancelled"},
		}},
		noRetries,
	)
	for _, err := range []error{created, updated} {
		body := wantStatus(t, err, http.StatusBadRequest).Body
		_, supported, _ := strings.Cut(body, "Supported values: ")
		supported, _, _ = strings.Cut(supported, ".\"")
		got := strings.Split(supported, ", ")
		slices.Sort(got)
		want := []string{
			"batch.expired", "batch.failed", "batch.succeeded",
			"interaction.completed", "interaction.failed", "interaction.requires_action", "video.generated",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the refusal names %v", got)
		}
	}
}

func TestNineEvents(t *testing.T) {
	bubble(t, geminisim.Config{NineEvents: true}, nil, func(t *testing.T, sim *geminisim.Sim, rc *receiver, _ string) {
		w := call(
			t, sim, "POST", "/v1beta/webhooks",
			`{"uri":"https://receiver.example/9","subscribed_events":["batch.cancelled","interaction.cancelled"]}`,
		)
		if w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
		if w := call(t, sim, "POST", "/v1beta/webhooks", `{"uri":"https://r.example",`+
			`"subscribed_events":["batch.completed"]}`); w.Code != 400 ||
			!strings.Contains(w.Body.String(), "interaction.cancelled") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		sim.Script("b", geminisim.Script{Final: geminisim.StateCancelled})
		sim.Script("i", geminisim.Script{Final: geminisim.InteractionCancelled})
		submit(t, sim, "b")
		call(t, sim, "POST", "/v1beta/interactions", `{"model":"m","input":"i","background":true}`)
		waitWithin(t, week, sim, over(2))
		var types []string
		for _, d := range rc.all() {
			types = append(types, d.Event.Type)
		}
		slices.Sort(types)
		if !slices.Equal(types, []string{"batch.cancelled", "interaction.cancelled"}) {
			t.Errorf("delivered %v", types)
		}
	})
}

func TestWebhookIsEnabledAgainThroughSDK(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	made, err := client.Webhooks.Create(t.Context(), subscribe("batch.succeeded"), noRetries)
	if err != nil {
		t.Fatal(err)
	}
	id := *made.Webhook.ID
	if err := sim.SetWebhookState(id, geminisim.WebhookDisabledDueToFailedDeliveries); err != nil {
		t.Fatal(err)
	}
	got, err := client.Webhooks.Get(t.Context(), operations.GetWebhookRequest{ID: id}, noRetries)
	if err != nil || *got.Webhook.State != webhooks.WebhookStateDisabledDueToFailedDeliveries {
		t.Errorf("%+v %v", got, err)
	}
	enabled := webhooks.WebhookUpdateState("enabled")
	updated, err := client.Webhooks.Update(
		t.Context(), operations.UpdateWebhookRequest{ID: id, Body: webhooks.WebhookUpdate{State: &enabled}}, noRetries,
	)
	if err != nil || *updated.Webhook.State != webhooks.WebhookStateEnabled ||
		updated.Webhook.URI != "https://receiver.example/" {
		t.Errorf("%+v %v", updated, err)
	}
}
