package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/gemini/webhooks"
)

func newWebhookList(outside environment) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the webhooks of the API key's project",
		Example: "  opledger webhook list\n" +
			"  opledger webhook list --json",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withWebhookAdmin(cmd, outside, webhookFlags{}, func(ctx context.Context, a *webhookAdmin) error {
				hooks, err := a.gemini.List(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(outside.out, map[string]any{"webhooks": hooks})
				}
				return a.printWebhooks(hooks)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *webhookAdmin) printWebhooks(hooks []webhooks.Webhook) error {
	if len(hooks) == 0 {
		return a.print("no webhooks")
	}
	table := tabwriter.NewWriter(a.outside.out, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(table, "ID\tNAME\tURL\tSTATE\tEVENTS\tSECRETS")
	for _, hook := range hooks {
		_, lineErr := fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", safe(hook.ID), safe(hook.Name), safe(hook.URI),
			safe(hook.State),
			safe(strings.Join(hook.Events, " ")), safe(secretWords(hook.Secrets)))
		err = errors.Join(err, lineErr)
	}
	return errors.Join(err, table.Flush())
}

// secretWords are the secrets as Gemini shows them, with their ends.
func secretWords(secrets []webhooks.Secret) string {
	words := make([]string, len(secrets))
	for i, s := range secrets {
		words[i] = s.Truncated
		if !s.Expires.IsZero() {
			words[i] += " until " + localTime(s.Expires)
		}
	}
	return strings.Join(words, ", ")
}

func newWebhookPing(outside environment) *cobra.Command {
	var flags webhookFlags
	cmd := &cobra.Command{
		Use:   "ping [ID]",
		Short: "Make Gemini send a ping to the webhook",
		Long: "Makes Gemini send a ping to our webhook, or the one of that id. Gemini answers alike whether the receiver " +
			"can be reached\n" +
			"or not: look for the ping itself, which the webhook function keeps in the ledger's quarantine and logs.",
		Example: "  opledger webhook ping",
		Args:    usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withWebhookAdmin(cmd, outside, flags, func(ctx context.Context, a *webhookAdmin) error {
				hook, err := a.one(ctx, args)
				if err == nil {
					err = a.gemini.Ping(ctx, hook.ID)
				}
				if err != nil {
					return err
				}
				return a.print("Gemini sends a ping to %s. It says so also where the receiver cannot be reached: look for the "+
					"ping in the "+
					"ledger's quarantine, or in the webhook function's log (event=quarantine; refused: event=auth)", hook.URI)
			})
		},
	}
	flags.addURL(cmd)
	return cmd
}
