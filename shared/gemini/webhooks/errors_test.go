package webhooks_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/webhooks"
)

// TestFailures: a failed call is one request and one type of error, which shows neither the key nor
// a secret.
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
				{
					403, `{"error":{"code":403,"message":"no ` + apiKey + `"}}`, []string{"403", "no [API key]", "check the API key"},
					false,
				},
				{
					403, `{"error":{"code":403,"message":"no ` + strings.ReplaceAll(apiKey, "-", "%2D") + `"}}`,
					[]string{"no [API key]"}, false,
				},
				{
					404, `{"error":{"code":404,"message":"Requested entity was not found."}}`, []string{"there is no such webhook"},
					false,
				},
				{409, `{"error":{"code":"aborted","message":"busy"}}`, []string{"busy"}, false},
				{429, `{"error":{"code":429,"message":"slower"}}`, []string{"wait"}, false},
				{503, `<html>` + apiKey, []string{"503", "<html>[API key]", again}, true},
				{500, `{"error":{"code":500,"message":"no API key service"}}`, []string{"API key service", again}, true},
			} {
				w.instead(func(rw http.ResponseWriter, _ *http.Request) bool { says(rw, c.status, c.body); return true })
				failure := wantError(t, ask(t.Context(), w.client), c.status, c.words...)
				if sent := w.requests(); len(sent) != 1 || failure.Unanswered() != (c.unanswered && !read) ||
					failure.NotFound() != (c.status == 404) {
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
			if failure := wantError(t, ask(t.Context(), w.client), 200, again); strings.Contains(failure.Error(), "hunter2") ||
				failure.Unanswered() == read {
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
