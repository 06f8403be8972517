package webhook_test

import (
	"net/http"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// TestWebhookDelete asks first, and keeps the secret's versions.
func TestWebhookDelete(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.do("create").Want(t, terminal.ExitDone)
	id := w.only()
	for _, answer := range []string{"", "n\n", "\n", "yes please\n"} {
		s := w.doWith(w.variables, answer, "delete", id).Want(t, terminal.ExitFailed, "Delete webhook "+id, hookURL, "[y/N]",
			"nothing was deleted", "--yes")
		if s.Out != "" {
			t.Errorf("%q", s.Out)
		}
	}
	w.only()
	w.at(http.MethodDelete, "", unavailable)
	w.do("delete", id, "--yes").Want(t, terminal.ExitFailed, "503").Complaint(t)
	w.at("", "", nil)
	w.doWith(w.variables, "y\n", "delete", id).Want(t, terminal.ExitDone, "[y/N]").Says(t, "deleted webhook "+id,
		"stay in Secret Manager")
	w.wantStored(w.told()[0])
	w.do("delete", id, "--yes").Want(t, terminal.ExitFailed, "404", "webhook list").Complaint(t)
	w.do("create").Want(t, terminal.ExitDone)
	w.do("delete", w.only(), "--yes").Want(t, terminal.ExitDone)
	if s := w.do("list"); s.Out != "no webhooks\n" {
		t.Errorf("%s", s.Out)
	}
}
