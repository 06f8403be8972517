package main

import (
	"net/http"
	"testing"
)

// TestWebhookPing: the command says that Gemini's answer proves nothing, and where to look for the
// ping.
func TestWebhookPing(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("ping").want(t, exitFailed, "there is no webhook for "+hookURL).complaint(t)
	w.do("create").want(t, exitDone)
	w.took()
	id := w.only()
	for _, args := range [][]string{{"ping"}, {"ping", id}, {"ping", "--url", hookURL}} {
		w.do(args...).want(t, exitDone).says(t, hookURL, "cannot be reached", "quarantine", "log")
		if writes := w.took(); len(writes) != 1 || writes[0] != "POST /"+id+":ping" {
			t.Errorf("asked of Gemini: %s", writes)
		}
	}
	w.do("ping", "nosuch").want(t, exitFailed, "404").complaint(t)
	w.at(http.MethodPost, ":ping", unavailable)
	w.do("ping").want(t, exitFailed, "503").complaint(t)
}
