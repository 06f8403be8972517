package webhook_test

import (
	"net/http"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// TestWebhookPing: the command says that Gemini's answer proves nothing, and where to look for the
// ping.
func TestWebhookPing(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("ping").Want(t, terminal.ExitFailed, "there is no webhook for "+hookURL).Complaint(t)
	w.do("create").Want(t, terminal.ExitDone)
	w.took()
	id := w.only()
	for _, args := range [][]string{{"ping"}, {"ping", id}, {"ping", "--url", hookURL}} {
		w.do(args...).Want(t, terminal.ExitDone).Says(t, hookURL, "cannot be reached", "quarantine", "log")
		if writes := w.took(); len(writes) != 1 || writes[0] != "POST /"+id+":ping" {
			t.Errorf("asked of Gemini: %s", writes)
		}
	}
	elsewhere := w.with("OPLEDGER_WEBHOOK_URL")
	w.doWith(elsewhere, "", "ping").Want(t, terminal.ExitDone).Says(t, hookURL) // it is the only one
	w.registerWebhook("https://other.example/hook")
	w.took()
	w.doWith(elsewhere, "", "ping").Want(t, terminal.ExitUsage, "which webhook is meant? Set OPLEDGER_WEBHOOK_URL")
	w.do("ping", "nosuch").Want(t, terminal.ExitFailed, "404").Complaint(t)
	w.at(http.MethodPost, ":ping", unavailable)
	w.do("ping").Want(t, terminal.ExitFailed, "503").Complaint(t)
}
