package webhook

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

func newPing(outside terminal.Environment) *cobra.Command {
	var flags webhookFlags
	cmd := &cobra.Command{
		Use:   "ping [ID]",
		Short: "Make Gemini send a ping to the webhook",
		Long: "Makes Gemini send a ping to the webhook for $OPLEDGER_WEBHOOK_URL, or to the one with that id. Where\n" +
			"neither is given, the only webhook at Gemini is meant. Gemini answers the same whether the receiver can\n" +
			"be reached or not: look for the ping itself, which the webhook function logs and keeps in the ledger's\n" +
			"quarantine.",
		Example: "  opledger webhook ping",
		Args:    terminal.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withWebhookAdmin(cmd, outside, flags, func(ctx context.Context, a *webhookAdmin) error {
				hook, err := a.one(ctx, args)
				if err == nil {
					err = a.gemini.Ping(ctx, hook.ID)
				}
				if err != nil {
					return err
				}
				return outside.Print(map[string]any{"webhook": hook.ID, "url": hook.URI},
					"Gemini sends a ping to %s. It says so even if the receiver cannot be reached: look for the ping "+
						"in the ledger's quarantine, or in the webhook function's log (event=quarantine; refused: event=auth)",
					phrase.Safe(hook.URI))
			})
		},
	}
	flags.addURL(cmd)
	terminal.JSONFlag(cmd, &outside)
	return cmd
}
