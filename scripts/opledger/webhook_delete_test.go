package main

import (
	"net/http"
	"testing"
)

// TestWebhookDelete asks first, and keeps the secret's versions.
func TestWebhookDelete(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").want(t, exitDone)
	id := w.only()
	for _, answer := range []string{"", "n\n", "\n", "yes please\n"} {
		s := w.doWith(w.variables, answer, "delete", id).want(t, exitFailed, "Delete webhook "+id, hookURL, "[y/N]",
			"nothing was deleted", "--yes")
		if s.out != "" {
			t.Errorf("%q", s.out)
		}
	}
	w.only()
	w.at(http.MethodDelete, "", unavailable)
	w.do("delete", id, "--yes").want(t, exitFailed, "503").complaint(t)
	w.at("", "", nil)
	w.doWith(w.variables, "y\n", "delete", id).want(t, exitDone, "[y/N]").says(t, "deleted webhook "+id,
		"stay in Secret Manager")
	w.wantStored(w.told()[0])
	w.do("delete", id, "--yes").want(t, exitFailed, "404", "webhook list").complaint(t)
	w.do("create").want(t, exitDone)
	w.do("delete", w.only(), "--yes").want(t, exitDone)
	if s := w.do("list"); s.out != "no webhooks\n" {
		t.Errorf("%s", s.out)
	}
}
