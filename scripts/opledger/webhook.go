package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/secret"
)

func newWebhook(outside environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Manage the webhook at Gemini, and its signing secret in Secret Manager",
		Long: "Manages the webhook that Gemini delivers to, and the secret that it signs with.\n\n" +
			"Gemini is asked with $GEMINI_API_KEY (or the secret that $OPLEDGER_GEMINI_API_KEY_SECRET names). Ours is the\n" +
			"webhook for $OPLEDGER_WEBHOOK_URL. Its signing secret goes to the Secret Manager secret that\n" +
			"$OPLEDGER_WEBHOOK_SECRET names, with the credentials of gcloud auth application-default login, and never to the\n" +
			"terminal unless asked.",
		Example: "  opledger webhook create --url https://webhook-abc-uc.a.run.app --secret projects/my-project/secrets/opledger-webhook-secret\n" +
			"  opledger webhook check",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newWebhookCreate(outside), newWebhookList(outside), newWebhookPing(outside), newWebhookRotate(outside),
		newWebhookDelete(outside), newWebhookCheck(outside),
	)
	return cmd
}

// webhookSettings are what managing the webhook needs: no ledger.
type webhookSettings struct {
	Gemini   config.Gemini
	Endpoint config.Endpoint
	Secret   webhookSecret
}

// webhookSecret is where the signing secret is, or the secret itself.
type webhookSecret struct {
	Text string `env:"OPLEDGER_WEBHOOK_SECRET"`
}

// webhookFlags are what the commands may be told beside the settings.
type webhookFlags struct{ url, secret string }

func (f *webhookFlags) addURL(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "the https address that Gemini delivers to (default $OPLEDGER_WEBHOOK_URL)")
}

func (f *webhookFlags) addSecret(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.secret, "secret", "",
		"the Secret Manager secret for the signing secret, projects/P/secrets/S (default $OPLEDGER_WEBHOOK_SECRET)")
}

// A webhookDesk is what the webhook commands work with.
type webhookDesk struct {
	outside environment
	gemini  *webhooks.Client
	// url is where ours delivers to; empty: nobody said.
	url string
	// kind is which webhook there is to be.
	kind config.WebhookKind

	secrets *secret.Client
	// name is the secret in Secret Manager; the zero Name: there is none.
	name secret.Name
	// literal are the signing secrets that stand in the settings themselves.
	literal []string
}

// openWebhookDesk reads the settings, with every problem at once. The desk must be closed.
func openWebhookDesk(ctx context.Context, outside environment, flags webhookFlags) (*webhookDesk, error) {
	settings, err := config.Parse[webhookSettings](outside.variables)
	problems := []error{err, config.Unread(outside.variables)}
	desk := &webhookDesk{outside: outside, url: settings.Endpoint.URL, kind: settings.Endpoint.Kind}
	if flags.url != "" {
		desk.url = flags.url
		if err := config.CheckWebhookURL(flags.url); err != nil {
			problems = append(problems, fmt.Errorf("--url: %w", err))
		}
	}
	switch literal := strings.Fields(settings.Secret.Text); {
	case flags.secret != "":
		desk.name, err = secret.ParseName(flags.secret)
		err = prefixed("--secret", err)
	case len(literal) > 0 && strings.HasPrefix(literal[0], "whsec_"):
		desk.literal, err = literal, nil
	case len(literal) > 0:
		desk.name, err = secret.ParseName(strings.TrimSpace(settings.Secret.Text))
		err = prefixed("OPLEDGER_WEBHOOK_SECRET", err)
	default:
		err = nil
	}
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, usageError{err}
	}
	key, err := cloud.GeminiKey(ctx, settings.Gemini)
	if err != nil {
		return nil, err
	}
	desk.gemini, err = webhooks.NewClient(ctx, webhooks.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
	if err != nil {
		return nil, err
	}
	desk.secrets = secret.New(secret.Options{Emulator: settings.Gemini.SecretEmulator})
	return desk, nil
}

// prefixed says which flag or variable an error is about; nil stays nil.
func prefixed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func (d *webhookDesk) close() error { return d.secrets.Close() }

// with opens a desk for do and closes it.
func withWebhookDesk(cmd *cobra.Command, outside environment, flags webhookFlags, do func(context.Context, *webhookDesk) error) error {
	desk, err := openWebhookDesk(cmd.Context(), outside, flags)
	if err != nil {
		return err
	}
	return errors.Join(withRemedy(do(cmd.Context(), desk)), desk.close())
}

// withRemedy adds the command that shows what an error about a webhook at Gemini leaves open.
func withRemedy(err error) error {
	var failure *webhooks.Error
	if errors.Is(err, webhooks.ErrID) || errors.As(err, &failure) && (failure.NotFound() || failure.Unanswered()) {
		return fmt.Errorf("%w; opledger webhook list shows the webhooks that there are", err)
	}
	return err
}

// needURL returns an error of use unless it is known where ours delivers to.
func (d *webhookDesk) needURL() error {
	if d.url == "" {
		return usageError{errors.New("which webhook is meant? Set OPLEDGER_WEBHOOK_URL, or pass --url, the https address that Gemini delivers to")}
	}
	return nil
}

// needStore returns an error of use unless there is a place for a signing secret: Secret Manager, or the terminal if asked.
func (d *webhookDesk) needStore(printSecret bool) error {
	if d.name != (secret.Name{}) || printSecret {
		return nil
	}
	what := "OPLEDGER_WEBHOOK_SECRET is not set"
	if d.literal != nil {
		what = "OPLEDGER_WEBHOOK_SECRET holds a secret itself"
	}
	return usageError{errors.New("there is no place for the signing secret: " + what +
		"; name one in Secret Manager with --secret projects/PROJECT/secrets/SECRET, or pass --print-secret to get it on the terminal")}
}

// one returns the webhook of that id or, without one, the only webhook for our URL.
func (d *webhookDesk) one(ctx context.Context, args []string) (webhooks.Webhook, error) {
	if len(args) > 0 {
		return d.gemini.Get(ctx, strings.TrimPrefix(args[0], "webhooks/"))
	}
	if err := d.needURL(); err != nil {
		return webhooks.Webhook{}, err
	}
	ours, err := d.gemini.Find(ctx, d.url)
	switch {
	case err != nil:
		return webhooks.Webhook{}, err
	case len(ours) == 0:
		return webhooks.Webhook{}, fmt.Errorf("there is no webhook for %s; make it with opledger webhook create", d.url)
	case len(ours) > 1:
		return webhooks.Webhook{}, fmt.Errorf("there are %d webhooks for %s: %s; name the one that is meant", len(ours), d.url, ids(ours))
	}
	return ours[0], nil
}

func ids(hooks []webhooks.Webhook) string {
	texts := make([]string, len(hooks))
	for i, hook := range hooks {
		texts[i] = hook.ID
	}
	return strings.Join(texts, ", ")
}

// now is the time that Gemini's expiries are compared with.
func (d *webhookDesk) now() time.Time {
	if d.outside.now != nil {
		return d.outside.now()
	}
	return time.Now()
}

// say prints a line for a person; Gemini's words in it may not command the terminal.
func (d *webhookDesk) say(format string, args ...any) error {
	if _, err := fmt.Fprintln(d.outside.out, dash(fmt.Sprintf(format, args...))); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// note prints a line on stderr, beside what the command prints.
func (d *webhookDesk) note(format string, args ...any) {
	_, _ = fmt.Fprintf(d.outside.err, "opledger: "+format+"\n", args...)
}
