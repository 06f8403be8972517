package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
)

// TestWebhookList: a table and JSON, with the last characters of secrets and no secret.
func TestWebhookList(t *testing.T) {
	t.Parallel()
	clock := hookClock()
	w := newHookWorldAt(t, clock.Now)
	if s := w.do("list").want(t, exitDone); s.out != "no webhooks\n" {
		t.Errorf("%q", s.out)
	}
	w.do("create").want(t, exitDone)
	w.do("rotate").want(t, exitDone)
	s := w.do("list").want(t, exitDone).says(t, "ID ", "NAME ", "URL ", "STATE ", "EVENTS ", "SECRETS", w.only(), hookURL,
		"enabled",
		"batch.succeeded batch.failed",
		"whsec_..."+w.told()[1][len(w.told()[1])-4:]+", whsec_..."+w.told()[0][len(w.told()[0])-4:]+" until "+
			phrase.LocalTime(clock.Now().Add(24*time.Hour)))
	if strings.Count(s.out, "\n") != 2 {
		t.Errorf("%s", s.out)
	}
	w.do("list", "--json").want(t, exitDone).says(t, `"expires": "2026-11-22T12:00:00Z"`)
	w.at(http.MethodGet, "/webhooks", unavailable)
	w.do("list").want(t, exitUnread, "503").complaint(t)
}
