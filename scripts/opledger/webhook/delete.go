package webhook

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
)

func newDelete(outside terminal.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Delete a webhook at Gemini; asks first",
		Long: "Deletes a webhook at Gemini. Nothing more is delivered to it; reconcile finds every\n" +
			"completion. The versions of its signing secret stay in Secret Manager.",
		Example: "  opledger webhook delete k0h9q38f6ejj1g9j7cgc\n" +
			"  opledger webhook delete k0h9q38f6ejj1g9j7cgc --yes",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withWebhookAdmin(cmd, outside, webhookFlags{}, func(ctx context.Context, a *webhookAdmin) error {
				hook, err := a.one(ctx, args)
				if err != nil {
					return err
				}
				question := fmt.Sprintf("Delete webhook %s, which delivers to %s?", phrase.Safe(hook.ID), phrase.Safe(hook.URI))
				if err := terminal.Agree(ctx, outside, question, "nothing was deleted"); err != nil {
					return err
				}
				if err := a.gemini.Delete(ctx, hook.ID); err != nil {
					return err
				}
				return outside.Print(map[string]any{"webhook": hook.ID, "url": hook.URI, "deleted": true},
					"deleted webhook %s. The versions of its secret stay in Secret Manager; disable them with "+
						"gcloud secrets versions disable if no other webhook uses them", phrase.Safe(hook.ID))
			})
		},
	}
	terminal.YesFlag(cmd, &outside)
	terminal.JSONFlag(cmd, &outside)
	return cmd
}
