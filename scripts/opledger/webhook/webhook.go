// Package webhook has the commands of opledger webhook, a file each: they manage the webhook at Gemini and its
// signing secret, and deliver to it as Gemini does.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/secret"
)

// New makes opledger webhook.
func New(outside terminal.Environment) *cobra.Command {
	return terminal.Group(&cobra.Command{
		Use:   "webhook",
		Short: "Manage the webhook at Gemini and its signing secret, and deliver to it as Gemini does",
		Long: "Manages the webhook that Gemini delivers to, and the secret that it signs with; deliver tries the\n" +
			"receiver.\n\n" +
			"The API key is $GEMINI_API_KEY, or in the secret that $OPLEDGER_GEMINI_API_KEY_SECRET names. The\n" +
			"webhook is the one for $OPLEDGER_WEBHOOK_URL. Its signing secret is stored in the Secret Manager\n" +
			"secret that $OPLEDGER_WEBHOOK_SECRET names, with the credentials of gcloud auth application-default\n" +
			"login. It is printed only with --print-secret.",
		Example: createExample + "\n" +
			"  opledger webhook check",
	}, newCreate(outside), newList(outside), newPing(outside), newRotate(outside),
		newDelete(outside), newCheck(outside), newDeliver(outside))
}

// createExample is a command line of webhook create.
const createExample = "  opledger webhook create --url https://webhook-abc-uc.a.run.app " +
	"--secret projects/my-project/secrets/opledger-webhook-secret"

// webhookSettings are the settings for managing the webhook: none of the ledger.
type webhookSettings struct {
	Gemini   config.Gemini
	Endpoint config.Endpoint
	Secret   struct {
		Text string `env:"OPLEDGER_WEBHOOK_SECRET"` // names it in Secret Manager, or holds the secret itself
	}
}

// webhookFlags replace settings.
type webhookFlags struct{ url, secret string }

func (f *webhookFlags) addURL(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.url, "url", "", "the https address that Gemini delivers to (default $OPLEDGER_WEBHOOK_URL)")
}

func (f *webhookFlags) addSecret(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.secret, "secret", "",
		"the Secret Manager secret for the signing secret, projects/P/secrets/S (default $OPLEDGER_WEBHOOK_SECRET)")
}

// A webhookAdmin manages the webhook at Gemini and its secret.
type webhookAdmin struct {
	outside terminal.Environment
	gemini  *webhooks.Client
	// url is the address of our webhook; empty: not given.
	url string
	// kind is the kind of webhook that is deployed.
	kind config.WebhookKind

	secrets *secret.Client
	// name is the secret in Secret Manager; zero: none.
	name secret.Name
	// literal are the signing secrets in the settings themselves.
	literal []string
	// flags are those of this command.
	flags webhookFlags
}

// ofURL are the flags by which a command finds the same webhook.
func (a *webhookAdmin) ofURL() string {
	if a.flags.url == "" {
		return ""
	}
	return " --url " + phrase.ShellWord(a.flags.url)
}

// ofSecret are the flags by which a command finds the same secret in Secret Manager.
func (a *webhookAdmin) ofSecret() string {
	if a.flags.secret == "" {
		return ""
	}
	return " --secret " + phrase.ShellWord(a.flags.secret)
}

// keeping are the flags by which a command keeps a new signing secret.
func (a *webhookAdmin) keeping() string {
	if a.name == (secret.Name{}) {
		return " --print-secret"
	}
	return a.ofSecret()
}

// rotates says how a webhook gets a secret that its receiver knows.
func (a *webhookAdmin) rotates(id string) string {
	words := "run opledger webhook rotate " + phrase.ShellWord(id) + a.keeping()
	if a.name == (secret.Name{}) {
		return words + ", add what it prints to OPLEDGER_WEBHOOK_SECRET of serve, and start that again"
	}
	return words + ", which stores a new one"
}

// openWebhookAdmin reads the settings. The error joins every problem. The result must be closed.
func openWebhookAdmin(ctx context.Context, outside terminal.Environment, flags webhookFlags) (*webhookAdmin, error) {
	settings, err := config.Parse[webhookSettings](outside.Variables)
	problems := []error{err, config.Unread(outside.Variables)}
	admin := &webhookAdmin{outside: outside, url: settings.Endpoint.URL, kind: settings.Endpoint.Kind, flags: flags}
	if flags.url != "" {
		admin.url = flags.url
		problems = append(problems, terminal.Prefixed("--url", config.CheckWebhookURL(flags.url)))
	}
	switch literal := strings.Fields(settings.Secret.Text); {
	case flags.secret != "":
		admin.name, err = secret.ParseName(flags.secret)
		err = terminal.Prefixed("--secret", err)
	case len(literal) > 0 && strings.HasPrefix(literal[0], "whsec_"):
		admin.literal, err = literal, nil
	case len(literal) > 0:
		admin.name, err = secret.ParseName(strings.TrimSpace(settings.Secret.Text))
		err = terminal.Prefixed("OPLEDGER_WEBHOOK_SECRET", err)
	default:
		err = nil
	}
	if err := errors.Join(append(problems, err)...); err != nil {
		return nil, terminal.Usage(err)
	}
	if admin.gemini, err = cloud.Client(ctx, settings.Gemini, webhooks.NewClient); err != nil {
		return nil, err
	}
	admin.secrets = secret.New(secret.Options{Emulator: settings.Gemini.SecretEmulator})
	return admin, nil
}

// withWebhookAdmin opens a webhookAdmin for do, and closes it.
func withWebhookAdmin(
	cmd *cobra.Command, outside terminal.Environment, flags webhookFlags, do func(context.Context, *webhookAdmin) error,
) error {
	admin, err := openWebhookAdmin(cmd.Context(), outside, flags)
	if err != nil {
		return err
	}
	return errors.Join(withWebhookRemedy(do(cmd.Context(), admin)), admin.secrets.Close())
}

// needURL returns an error of usage if the address of our webhook is not known.
func (a *webhookAdmin) needURL() error {
	if a.url == "" {
		return terminal.Usage(errors.New("which webhook is meant? " +
			"Set OPLEDGER_WEBHOOK_URL, or pass --url, the https address that Gemini delivers to"))
	}
	return nil
}

// needStore returns an error of usage if a signing secret would be lost: there is no secret in Secret
// Manager for it, and it is not to be printed.
func (a *webhookAdmin) needStore(printSecret bool) error {
	if a.name != (secret.Name{}) || printSecret {
		return nil
	}
	what := "OPLEDGER_WEBHOOK_SECRET is not set"
	if a.literal != nil {
		what = "OPLEDGER_WEBHOOK_SECRET holds a secret itself"
	}
	return terminal.Usage(errors.New("there is no place for the signing secret: " + what +
		"; name one in Secret Manager with --secret projects/PROJECT/secrets/SECRET, or pass --print-secret to print it"))
}

// one returns the webhook with the id in args or, without one, the only webhook for our URL; where no setting has that
// URL, the only one at Gemini.
func (a *webhookAdmin) one(ctx context.Context, args []string) (webhooks.Webhook, error) {
	if len(args) > 0 {
		return a.gemini.Get(ctx, strings.TrimPrefix(args[0], "webhooks/"))
	}
	if a.url == "" {
		all, err := a.gemini.List(ctx)
		switch {
		case err != nil:
			return webhooks.Webhook{}, err
		case len(all) == 1:
			return all[0], nil
		}
		return webhooks.Webhook{}, a.needURL()
	}
	ours, err := a.gemini.Find(ctx, a.url)
	switch {
	case err != nil:
		return webhooks.Webhook{}, err
	case len(ours) == 0:
		return webhooks.Webhook{}, fmt.Errorf("there is no webhook for %s; make it with opledger webhook create", a.url)
	case len(ours) > 1:
		return webhooks.Webhook{}, fmt.Errorf("there are %d webhooks for %s: %s; name one of them", len(ours), a.url,
			ids(ours))
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

// print prints a line on stdout. Texts of Gemini's in it cannot command the terminal.
func (a *webhookAdmin) print(format string, args ...any) error {
	if _, err := fmt.Fprintln(a.outside.Out, phrase.Safe(fmt.Sprintf(format, args...))); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// withWebhookRemedy adds to an error about a webhook at Gemini which command lists the webhooks.
func withWebhookRemedy(err error) error {
	var failure *webhooks.Error
	if errors.Is(err, webhooks.ErrID) || errors.As(err, &failure) && (failure.NotFound() || failure.Unanswered()) {
		return fmt.Errorf("%w; opledger webhook list shows the webhooks that there are", err)
	}
	return err
}
