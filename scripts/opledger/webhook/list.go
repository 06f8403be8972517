package webhook

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/gemini/webhooks"
)

func newList(outside terminal.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the webhooks of the API key's project",
		Example: "  opledger webhook list\n" +
			"  opledger webhook list --json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withWebhookAdmin(cmd, outside, webhookFlags{}, func(ctx context.Context, a *webhookAdmin) error {
				hooks, err := a.gemini.List(ctx)
				if err != nil {
					return terminal.Unread(err)
				}
				if outside.JSON {
					return terminal.PrintJSON(outside.Out, map[string]any{"webhooks": hooks})
				}
				return a.printWebhooks(hooks)
			})
		},
	}
	terminal.JSONFlag(cmd, &outside)
	return cmd
}

func (a *webhookAdmin) printWebhooks(hooks []webhooks.Webhook) error {
	if len(hooks) == 0 {
		return a.print("no webhooks")
	}
	out := terminal.NewTable(a.outside.Out)
	out.Line("ID", "NAME", "URL", "STATE", "EVENTS", "SECRETS")
	for _, hook := range hooks {
		out.Line(phrase.Safe(hook.ID), phrase.Safe(hook.Name), phrase.Safe(hook.URI), phrase.Safe(hook.State),
			phrase.Safe(strings.Join(hook.Events, " ")), phrase.Safe(secretWords(hook.Secrets)))
	}
	return out.End()
}

// secretWords are the secrets as Gemini shows them, with their expiries.
func secretWords(secrets []webhooks.Secret) string {
	words := make([]string, len(secrets))
	for i, s := range secrets {
		words[i] = s.Truncated
		if !s.Expires.IsZero() {
			words[i] += " until " + phrase.LocalTime(s.Expires)
		}
	}
	return strings.Join(words, ", ")
}
