package webhook_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// TestWebhookList: a table and JSON, with the last characters of secrets and no secret.
func TestWebhookList(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	if s := w.do("list").Want(t, terminal.ExitDone); s.Out != "no webhooks\n" {
		t.Errorf("%q", s.Out)
	}
	w.do("create").Want(t, terminal.ExitDone)
	w.do("rotate").Want(t, terminal.ExitDone)
	s := w.do("list").Want(t, terminal.ExitDone).Says(t, "ID ", "NAME ", "URL ", "STATE ", "EVENTS ", "SECRETS",
		w.only(), hookURL,
		"enabled",
		"batch.succeeded batch.failed",
		"whsec_..."+w.told()[1][len(w.told()[1])-4:]+", whsec_..."+w.told()[0][len(w.told()[0])-4:]+" until "+
			phrase.LocalTime(clock.Now().Add(24*time.Hour)))
	if strings.Count(s.Out, "\n") != 2 {
		t.Errorf("%s", s.Out)
	}
	w.do("list", "--json").Want(t, terminal.ExitDone).Says(t, `"expires": "2026-11-22T12:00:00Z"`)
	w.at(http.MethodGet, "/webhooks", unavailable)
	w.do("list").Want(t, terminal.ExitUnread, "503").Complaint(t)
}
