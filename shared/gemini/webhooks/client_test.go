package webhooks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
)

// TestLife: create, find, get, ping, rotate, enable, delete, each one request as the API takes it [G3].
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
	if printed := fmt.Sprintf("%v %+v %#v %s", created, created, created, created); strings.Contains(printed, created.Secret) {
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

// TestCreateEvents: all nine are asked for, and where that is refused, what the refusal says is accepted, else the seven.
func TestCreateEvents(t *testing.T) {
	t.Parallel()
	seven := webhooks.AcceptedEvents()
	for _, c := range []struct {
		about, refusal string
		want           []string
		requests       int
	}{
		{"all accepted", "", webhooks.Events(), 1},
		{"the seven", `Invalid value "batch.cancelled" in subscribed_events. Supported values: ` + strings.Join(seven, ", ") + ".", seven, 2},
		{"eight", "Not supported: interaction.cancelled. Supported values: batch.cancelled, " + strings.Join(seven, ", "),
			append(slices.Clone(seven), "batch.cancelled"), 2},
		{"six", "must be one of " + strings.Join(seven[1:], " "), seven[1:], 2},
		{"names only what it refuses", "batch.cancelled, interaction.cancelled are not supported", seven, 2},
		{"names all", "Valid values: " + strings.Join(webhooks.Events(), " "), seven, 2},
		{"names none", "Request contains an invalid argument.", seven, 2},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			first := true
			w.instead(func(rw http.ResponseWriter, r *http.Request) bool {
				body, _ := io.ReadAll(r.Body)
				if first && c.refusal != "" {
					first = false
					says(rw, 400, fmt.Sprintf(`{"error":{"code":400,"message":%q,"status":"INVALID_ARGUMENT"}}`, c.refusal))
					return true
				}
				says(rw, 200, `{"id":"h","new_signing_secret":"whsec_x",`+strings.TrimPrefix(string(body), "{"))
				return true
			})
			created, err := w.client.Create(t.Context(), "", ours)
			if err != nil {
				t.Fatal(err)
			}
			var refused []string
			for _, event := range webhooks.Events() {
				if !slices.Contains(c.want, event) {
					refused = append(refused, event)
				}
			}
			want := [][]string{slices.Sorted(slices.Values(c.want)), refused}
			if diff := cmp.Diff(want, [][]string{slices.Sorted(slices.Values(created.Events)), created.Refused}); diff != "" {
				t.Errorf("events and refused ones, -want +got\n%s", diff)
			}
			if sent := w.requests(); len(sent) != c.requests || strings.Contains(sent[0], `"name"`) {
				t.Errorf("%d requests, want %d: %s", len(sent), c.requests, sent)
			}
		})
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

// TestFailures: one request each, one type of error, and nothing of the key or of what a success may hold.
func TestFailures(t *testing.T) {
	t.Parallel()
	ask := map[string]func(context.Context, *webhooks.Client) error{
		"create": func(ctx context.Context, c *webhooks.Client) error { _, err := c.Create(ctx, "", ours); return err },
		"list":   func(ctx context.Context, c *webhooks.Client) error { _, err := c.List(ctx); return err },
		"find":   func(ctx context.Context, c *webhooks.Client) error { _, err := c.Find(ctx, ours); return err },
		"get":    func(ctx context.Context, c *webhooks.Client) error { _, err := c.Get(ctx, "h"); return err },
		"ping":   func(ctx context.Context, c *webhooks.Client) error { return c.Ping(ctx, "h") },
		"rotate": func(ctx context.Context, c *webhooks.Client) error { _, err := c.Rotate(ctx, "h", false); return err },
		"delete": func(ctx context.Context, c *webhooks.Client) error { return c.Delete(ctx, "h") },
		"enable": func(ctx context.Context, c *webhooks.Client) error { _, err := c.Enable(ctx, "h"); return err },
	}
	for what, ask := range ask {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := start(t)
			again := "; check whether it was done, and try again"
			read := what == "list" || what == "find" || what == "get"
			if read {
				again = "; try again"
			}
			for _, c := range []struct {
				status     int
				body       string
				words      []string
				unanswered bool
			}{
				{403, `{"error":{"code":403,"message":"no ` + apiKey + `"}}`, []string{"403", "no [API key]", "check the API key"}, false},
				{403, `{"error":{"code":403,"message":"no ` + strings.ReplaceAll(apiKey, "-", "%2D") + `"}}`, []string{"no [API key]"}, false},
				{404, `{"error":{"code":404,"message":"Requested entity was not found."}}`, []string{"there is no such webhook"}, false},
				{409, `{"error":{"code":"aborted","message":"busy"}}`, []string{"busy"}, false},
				{429, `{"error":{"code":429,"message":"slower"}}`, []string{"wait"}, false},
				{503, `<html>` + apiKey, []string{"503", "<html>[API key]", again}, true},
				{500, `{"error":{"code":500,"message":"no API key service"}}`, []string{"API key service", again}, true},
			} {
				w.instead(func(rw http.ResponseWriter, _ *http.Request) bool { says(rw, c.status, c.body); return true })
				failure := wantError(t, ask(t.Context(), w.client), c.status, c.words...)
				if sent := w.requests(); len(sent) != 1 || failure.Unanswered() != (c.unanswered && !read) || failure.NotFound() != (c.status == 404) {
					t.Errorf("%d: %d requests, unanswered %v", c.status, len(sent), failure.Unanswered())
				}
			}
			w.instead(func(rw http.ResponseWriter, _ *http.Request) bool {
				rw.Header().Set("Location", "https://elsewhere.example/")
				says(rw, 302, `{}`)
				return true
			})
			wantError(t, ask(t.Context(), w.client), 302)
			w.instead(func(rw http.ResponseWriter, _ *http.Request) bool {
				rw.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(rw, "whsec_hunter2")
				return true
			})
			if failure := wantError(t, ask(t.Context(), w.client), 200, again); strings.Contains(failure.Error(), "hunter2") || failure.Unanswered() == read {
				t.Errorf("%v", failure)
			}
			w.instead(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
			if failure := wantError(t, ask(t.Context(), w.client), 0, "no answer", again); failure.Unanswered() == read {
				t.Errorf("%v", failure)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := ask(ended, w.client); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestNoOtherRequest: an id that would make another request of it is not sent.
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

func TestNewClient(t *testing.T) {
	t.Parallel()
	if _, err := webhooks.NewClient(t.Context(), webhooks.Options{APIKey: " \n"}); !errors.Is(err, api.ErrNoAPIKey) {
		t.Errorf("no key: %v", err)
	}
	for _, o := range []webhooks.Options{
		{APIKey: apiKey + "\r\nX-Evil: 1"}, {APIKey: apiKey, BaseURL: "localhost:1"}, {APIKey: apiKey, BaseURL: "ftp://" + apiKey},
		{APIKey: apiKey, BaseURL: "http://" + apiKey},
	} {
		if client, err := webhooks.NewClient(t.Context(), o); err == nil || client != nil || strings.Contains(err.Error(), apiKey) {
			t.Errorf("%v, %v", client, err)
		}
	}
	mine := &http.Client{}
	o := webhooks.Options{APIKey: apiKey, HTTP: mine}
	client, err := webhooks.NewClient(t.Context(), o)
	if err != nil || mine.CheckRedirect != nil {
		t.Fatal(err, "or the caller's HTTP client was changed")
	}
	if printed := fmt.Sprintf("%v %+v %#v %v %+v %#v", client, client, client, o, o, o); strings.Contains(printed, apiKey) {
		t.Errorf("printed %s", printed)
	}
}

// TestNewClientEnvironment: the environment's address is held to the same as one in the options. Not
// parallel, because it sets a variable.
func TestNewClientEnvironment(t *testing.T) {
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere")
	if client, err := webhooks.NewClient(t.Context(), webhooks.Options{APIKey: apiKey}); err == nil || client != nil {
		t.Error("the environment makes it send the key in clear text")
	}
}

func TestSecretOf(t *testing.T) {
	t.Parallel()
	const whole = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODk3frh"
	for truncated, want := range map[string]bool{
		"whsec_...3frh": true, "...3frh": true, "whsec_...3frx": false, "other_...3frh": false, "whsec_...": false, "": false,
		whole: true, "3frh": false,
	} {
		if got := (webhooks.Secret{Truncated: truncated}).Of(whole); got != want {
			t.Errorf("%q: %v", truncated, got)
		}
	}
	if (webhooks.Secret{Truncated: "whsec_...3frh"}).Of("whsec_rh") {
		t.Error("a secret that is shorter than what is shown of it")
	}
}

func TestSameURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example", "https://A.example:443/", true},
		{"https://a.example/x", "https://a.example/x", true},
		{"https://a.example/x", "https://a.example/x/", false},
		{"https://a.example/x", "https://a.example/X", false},
		{"https://a.example/?a", "https://a.example/?b", false},
		{"https://a.example:8443/", "https://a.example/", false},
	} {
		if got := webhooks.SameURL(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
