package webhook_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// TestWebhookRoles: the roles in shared/gemini/webhooks/README.md are enough for create, rotate and check,
// where the secret is there.
func TestWebhookRoles(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	w.secrets.Make(hookSecret)
	for _, c := range []struct{ command, role string }{
		{"create", "secretVersionManager"}, {"rotate", "secretVersionManager"}, {"check", "viewer"},
	} {
		if err := w.secrets.Grant(map[string][]string{
			"opledger-webhook": {"roles/secretmanager." + c.role, "roles/secretmanager.secretAccessor"},
		}); err != nil {
			t.Fatal(err)
		}
		if s := w.do(c.command).Want(t, terminal.ExitDone); strings.Contains(s.Err, "denied") {
			t.Errorf("%s: %s", c.command, s.Err)
		}
	}
}
