package webhook_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/documents"
)

// TestDocumentedWebhook: the commands in shared/gemini/webhooks/README.md create, check and ping the webhook.
func TestDocumentedWebhook(t *testing.T) {
	t.Parallel()
	w := newHookWorld(t)
	for _, block := range documents.For(t, "../../..", "TestDocumentedWebhook") {
		for _, command := range block.Commands {
			if words := strings.Fields(command.Text); words[0] != "export" {
				w.do(words[2:]...).Want(t, terminal.ExitDone)
			} else if name, _, _ := strings.Cut(words[1], "="); !strings.Contains(strings.Join(w.variables, "\n"), name+"=") {
				t.Errorf("%s is no setting of the commands", name)
			}
		}
	}
}
