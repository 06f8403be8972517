package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/secret"
)

func newCreate(outside terminal.Environment) *cobra.Command {
	var flags webhookFlags
	var options secretOutput
	var name string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create the webhook at Gemini and store its signing secret",
		Long: "Creates the webhook for $OPLEDGER_WEBHOOK_URL, subscribed to every event that Gemini accepts.\n" +
			"Stores its signing secret as a new version in Secret Manager, and makes the secret there if it is\n" +
			"missing. Refuses if a webhook for that URL exists. If the secret cannot be stored, the webhook is\n" +
			"deleted again.",
		Example: "  opledger webhook create --url https://webhook-abc-uc.a.run.app --secret " +
			"projects/my-project/secrets/opledger-webhook-secret\n" +
			"  opledger webhook create --print-secret",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withWebhookAdmin(cmd, outside, flags, func(ctx context.Context, a *webhookAdmin) error {
				return a.create(ctx, name, options)
			})
		},
	}
	flags.addURL(cmd)
	flags.addSecret(cmd)
	options.add(cmd, &outside)
	cmd.Flags().StringVar(&name, "name", "opledger", "the webhook's display name at Gemini")
	return cmd
}

// needStatic returns an error unless the settings want a static webhook.
func (a *webhookAdmin) needStatic() error {
	if a.kind != config.WebhookStatic {
		return fmt.Errorf("OPLEDGER_WEBHOOK is %s, so that no static webhook is wanted: "+
			"deploy with OPLEDGER_WEBHOOK=static first", a.kind)
	}
	return nil
}

// secretOutput is how a command prints a signing secret.
type secretOutput struct{ print bool }

func (o *secretOutput) add(cmd *cobra.Command, outside *terminal.Environment) {
	cmd.Flags().BoolVar(&o.print, "print-secret", false, "print the signing secret; Secret Manager is then not needed")
	terminal.JSONFlag(cmd, outside)
}

func (a *webhookAdmin) create(ctx context.Context, name string, o secretOutput) error {
	if err := errors.Join(a.needStatic(), a.needURL(), a.needStore(o.print)); err != nil {
		return terminal.Usage(err)
	}
	existing, err := a.gemini.Find(ctx, a.url)
	if err != nil {
		return err
	}
	if len(existing) > 0 {
		return fmt.Errorf("there is a webhook for %s already: %s; inspect it with opledger webhook check%[3]s%[4]s, "+
			"or give it a new secret with opledger webhook rotate%[3]s%[5]s", a.url, ids(existing), a.ofURL(), a.ofSecret(),
			a.keeping())
	}
	if err := a.prepareStore(ctx); err != nil {
		return fmt.Errorf("nothing was created: %w", err)
	}
	// An interrupt after this would leave a webhook whose secret is lost.
	ctx = context.WithoutCancel(ctx)
	created, err := a.gemini.Create(ctx, name, a.url)
	if failure, ok := errors.AsType[*webhooks.Error](err); ok && failure.Unanswered() {
		return fmt.Errorf("%w; if a webhook for %s is listed, delete it first: its secret is lost", err, a.url)
	}
	if err != nil {
		return err
	}
	version, err := a.store(ctx, created.Secret)
	if err != nil {
		return a.undo(ctx, created.ID, err)
	}
	if err = a.reportCreated(created, version, o); err != nil && version == "" {
		return a.undo(ctx, created.ID, err) // it was to be printed and not stored
	}
	return err
}

// prepareStore makes sure that a version can be added to the named secret, if there is one.
func (a *webhookAdmin) prepareStore(ctx context.Context) error {
	if a.name == (secret.Name{}) {
		return nil
	}
	made, err := a.secrets.Ensure(ctx, a.name)
	if made {
		a.outside.Note("made the secret %s", a.name)
	}
	return err
}

// undo deletes a webhook whose secret could not be kept, and returns the error to report.
func (a *webhookAdmin) undo(ctx context.Context, id string, why error) error {
	if err := a.gemini.Delete(ctx, id); err != nil {
		return fmt.Errorf("webhook %s was created, but its secret could not be kept (%w), and it could not "+
			"be deleted again (%w); run opledger webhook rotate %s%s, which makes another secret", id, why, err, id, a.keeping())
	}
	return fmt.Errorf("webhook %s was created and deleted again, because its secret could not be kept: %w; "+
		"fix that and create it again", id, why)
}

func (a *webhookAdmin) reportCreated(created webhooks.Created, version string, o secretOutput) error {
	if a.outside.JSON {
		answer := map[string]any{"webhook": created.Webhook, "refusedEvents": append([]string{}, created.Refused...)}
		return terminal.PrintJSON(a.outside.Out, o.answer(answer, version, created.Secret))
	}
	err := a.print("created webhook %s for %s, subscribed to %s", created.ID, created.URI,
		strings.Join(created.Events, " "))
	if len(created.Refused) > 0 {
		err = errors.Join(err, a.print("Gemini does not accept %s: reconcile finds those completions",
			strings.Join(created.Refused, " ")))
	}
	return errors.Join(err, a.printSecret(version, created.Secret, o))
}

// answer adds where the secret is stored and, if asked, the secret.
func (o secretOutput) answer(fields map[string]any, version, text string) map[string]any {
	fields["secretVersion"] = version
	if o.print {
		fields["secret"] = text
	}
	return fields
}

// printSecret prints where the secret is stored and, if asked, the secret.
func (a *webhookAdmin) printSecret(version, text string, o secretOutput) error {
	var err error
	if version != "" {
		err = a.print("its secret is stored as %s", version)
	}
	if o.print {
		err = errors.Join(err, a.print("%s", text))
	}
	return err
}
