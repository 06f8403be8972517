// Package deployment has the commands about a deployment as a whole: environment prints its settings, and
// canary proves that it works.
package deployment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/canary"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/scripts/opledger/webhook"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/firestore"
	"github.com/opledger/opledger/shared/ledger/topic"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/secret"
)

// NewCanary makes opledger canary.
func NewCanary(outside terminal.Environment) *cobra.Command {
	var flags canaryFlags
	cmd := &cobra.Command{
		Use:   "canary",
		Short: "Prove a deployment from end to end, link by link",
		Long: "Sends one thing through each chain of a deployment and watches it arrive: an intent through Register, a\n" +
			"signed delivery through the public address, a message through the topic and its push, and a run of the\n" +
			"scheduler's job. A step that fails says which link is cut, and what to look at. No effect runs, and nothing\n" +
			"is left behind. Register needs OPLEDGER_URL and OPLEDGER_TOKEN, as a submitter does; without them that step\n" +
			"is left out.\n\n" +
			"With --spend it also submits a real batch of one request, and times every hop to its effects; --json makes\n" +
			"a report of it that holds no secret.\n\n" +
			"It needs the settings of the deployment's commands, which terraform output and scripts/deploy print, and\n" +
			"the credentials of gcloud auth application-default login. scripts/doctor --live finds them by itself.",
		Example: "  opledger canary --region europe-west1\n" +
			"  opledger canary --region europe-west1 --json\n" +
			"  opledger canary --region europe-west1 --log\n" +
			"  opledger canary --region europe-west1 --spend --json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd.Context(), outside) },
	}
	cmd.Flags().StringVar(&flags.region, "region", "europe-west1", "where the functions and the scheduler's job are")
	cmd.Flags().StringVar(&flags.prefix, "prefix", "",
		"what the names of the deployment's parts begin with (default that of $OPLEDGER_TOPIC, PREFIX-effects)")
	terminal.JSONFlag(cmd, &outside)
	terminal.YesFlag(cmd, &outside)
	cmd.Flags().BoolVar(&flags.log, "log", false, "print one line for a log instead, on stderr")
	terminal.Exclusive(cmd, "json", "log")
	flags.spend.add(cmd)
	return cmd
}

// canaryFlags are the flags of canary.
type canaryFlags struct {
	region, prefix string
	log            bool
	spend          canarySpend
}

// canarySettings are those of the deployment that the canary passes through.
type canarySettings struct {
	Firestore config.Firestore
	Topic     config.Topic
	Ledger    config.Ledger
	Endpoint  config.Endpoint
	Signing   config.SigningSecrets
	Registrar canary.Registrar
	Emulators canary.Emulators
}

// run makes the steps, and prints them. The error names those that failed.
func (f *canaryFlags) run(ctx context.Context, outside terminal.Environment) error {
	settings, place, err := f.parse(outside)
	if err != nil {
		return err
	}
	var spending spendSettings
	if f.spend.on {
		if spending, err = config.Parse[spendSettings](outside.Variables); err != nil {
			return terminal.Usage(err)
		}
		if err := f.spend.agree(ctx, outside, settings.Ledger.Settings().Rules); err != nil {
			return err
		}
	}
	options, closeAll, err := openCanary(ctx, settings, place)
	if err != nil {
		return err
	}
	if f.spend.on {
		if options.Spend, err = f.spend.open(ctx, spending.Gemini, settings.Endpoint, options.Ledger); err != nil {
			return errors.Join(err, closeAll())
		}
	}
	options.Now, options.Wait = time.Now, outside.Pause
	var printing error
	report := canary.New(options).Run(ctx, func(s canary.Step) {
		if !outside.JSON && !f.log {
			_, err := fmt.Fprint(outside.Out, s)
			printing = errors.Join(printing, err)
		}
	})
	if outside.JSON {
		printing = terminal.PrintJSON(outside.Out, report)
	}
	err = errors.Join(printing, closeAll())
	if !report.OK && len(report.Failed()) == 0 {
		err = errors.Join(errors.New("interrupted before every step was made"), err)
	} else if !report.OK {
		err = errors.Join(fmt.Errorf("the deployment does not work: %s failed", strings.Join(report.Failed(), ", ")), err)
	}
	if f.log {
		return f.logged(ctx, outside, report, err)
	}
	return err
}

// logged prints the one line of --log. The error only sets the exit code.
func (f *canaryFlags) logged(ctx context.Context, outside terminal.Environment, report canary.Report, err error) error {
	log := logging.New(outside.Err, "").With("event", "canary", "duration_ms", report.DurationMS)
	if err == nil {
		log.InfoContext(ctx, "the deployment works", "outcome", "passed")
		return nil
	}
	cause := err.Error()
	for _, s := range report.Steps {
		if s.Error != "" {
			cause = s.Name + ": " + s.Error + "; look at: " + s.LookAt
			break
		}
	}
	log.ErrorContext(ctx, err.Error(), "outcome", "failed", "reason", strings.Join(report.Failed(), ","), "error", cause)
	return fmt.Errorf("%w: %w", terminal.ErrLogged, err)
}

// parse reads the settings and where the deployment is. The error joins every problem.
func (f *canaryFlags) parse(outside terminal.Environment) (canarySettings, canary.Place, error) {
	settings, err := config.Parse[canarySettings](outside.Variables)
	p := diag.Problems{err, config.Unread(outside.Variables)}
	place := canary.Place{Project: settings.Firestore.ProjectID, Region: f.region, Prefix: f.prefix}
	named, ok := strings.CutSuffix(path.Base(settings.Topic.Name), "-effects")
	switch {
	case f.region == "":
		p = append(p, errors.New("--region: it is empty"))
	case settings.Topic.Name == "":
	case f.prefix == "" && !ok:
		p = append(p, fmt.Errorf(
			"--prefix: the topic %s is not PREFIX-effects, so say what the deployment's names begin with", settings.Topic.Name))
	case f.prefix != "" && f.prefix != named:
		p = append(p, fmt.Errorf("--prefix: %s-effects is not the topic in OPLEDGER_TOPIC, %s", f.prefix,
			settings.Topic.Name))
	}
	place.Prefix = cmp.Or(f.prefix, named)
	if settings.Endpoint.Kind == config.WebhookStatic {
		p.When(settings.Endpoint.URL == "", "OPLEDGER_WEBHOOK_URL: it is not set; the address that Gemini delivers to")
		p.When(settings.Signing.Secrets.IsZero(), "OPLEDGER_WEBHOOK_SECRET: it is not set; what deliveries are signed with")
	}
	if err := errors.Join(p...); err != nil {
		return settings, place, terminal.Usage(err)
	}
	return settings, place, nil
}

// openCanary connects the canary with the deployment. The returned function closes what it opened.
func openCanary(ctx context.Context, settings canarySettings, place canary.Place) (canary.Options, func() error,
	error,
) {
	var opened []func() error
	closeAll := func() error {
		var problems []error
		for _, one := range opened {
			problems = append(problems, one())
		}
		return errors.Join(problems...)
	}
	fail := func(err error) (canary.Options, func() error, error) {
		return canary.Options{}, nil, errors.Join(err, closeAll())
	}
	store, err := firestore.Open(ctx, place.Project, settings.Firestore.Store.Database)
	if err != nil {
		return fail(err)
	}
	opened = append(opened, store.Close)
	messages, err := topic.Open(ctx, place.Project, settings.Topic.Name)
	if err != nil {
		return fail(err)
	}
	opened = append(opened, messages.Close)
	subscriptions, err := pubsub.NewClient(ctx, place.Project)
	if err != nil {
		return fail(fmt.Errorf("making a Pub/Sub client: %w", err))
	}
	opened = append(opened, subscriptions.Close)
	l, err := ledger.New(store, settings.Ledger.Settings(), ledger.Options{Publisher: messages})
	if err != nil {
		return fail(err)
	}
	google, err := canary.NewGoogle(ctx, settings.Emulators)
	if err != nil {
		return fail(err)
	}
	secrets := secret.New(secret.Options{Emulator: settings.Emulators.Secrets})
	opened = append(opened, secrets.Close)
	options := canary.Options{
		Place: place, Ledger: l, Topic: messages, Subscriptions: subscriptions.SubscriptionAdminClient, Google: google,
		Registrar: settings.Registrar, SigningSecret: webhook.NewestSecret(secrets, settings.Signing.Secrets),
		Effect: settings.Ledger.Effects[0].Name,
	}
	if settings.Endpoint.Kind == config.WebhookStatic {
		options.URL = settings.Endpoint.URL
	}
	return options, closeAll, nil
}
