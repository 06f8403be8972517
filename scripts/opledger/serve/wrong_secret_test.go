package serve_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/test/commandtest"
)

// TestServeWithoutURL: serve as its help starts it, without the webhook's address, says within a pass that its secret
// is not Gemini's, in status and on Overview, until it is. While Gemini has no webhook it is quiet [W1].
func TestServeWithoutURL(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	_, variables := commandtest.FakeGemini(t, f)
	variables = append(variables, "OPLEDGER_INTERVAL=50ms")
	gemini := ""
	for _, set := range variables {
		if url, ok := strings.CutPrefix(set, "GOOGLE_GEMINI_BASE_URL="); ok {
			gemini = url
		}
	}
	status := func(code int, words ...string) {
		t.Helper()
		for limit := time.Now().Add(2 * time.Minute); ; {
			s := commandtest.Run(t, nil, "status", "--store", f.Store())
			lacks := ""
			for _, word := range words {
				if !strings.Contains(s.Out, word) {
					lacks = word
				}
			}
			if s.Code == code && lacks == "" {
				return
			}
			if time.Now().After(limit) {
				t.Fatalf("exit code %d, without %q: %s%s", s.Code, lacks, s.Out, s.Err)
			}
		}
	}
	s := commandtest.Serving(t, append(variables, "OPLEDGER_WEBHOOK_SECRET="+commandtest.DeliverSecret))
	status(terminal.ExitDone, "Gemini has none", "nothing needs an operator")
	client, err := webhooks.NewClient(webhooks.Options{APIKey: "k", BaseURL: gemini})
	var hook webhooks.Created
	if err == nil {
		hook, err = client.Create(t.Context(), "", s.URL+"/webhook")
	}
	if err != nil {
		t.Fatal(err)
	}
	status(terminal.ExitFailed, "Gemini signs the webhook's deliveries with "+hook.Secrets[0].Truncated,
		"Gemini's webhooks were compared: "+hook.ID, "wrong-secret")
	_, page := commandtest.Fetch(t, http.MethodGet, s.URL+"/", "")
	if !strings.Contains(page, "wrong secret") || !strings.Contains(page, "webhooks were compared: "+hook.ID) {
		t.Errorf("Overview: %s", page)
	}
	s.Stop()
	s = commandtest.Serving(t, append(variables, "OPLEDGER_WEBHOOK_SECRET="+hook.Secret))
	status(terminal.ExitDone, "nothing needs an operator")
	s.Stop()
}
