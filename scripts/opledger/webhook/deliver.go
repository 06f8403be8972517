package webhook

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/secret"
)

// deliverFlags are the flags of opledger webhook deliver.
type deliverFlags struct{ to, id, at string }

func newDeliver(outside terminal.Environment) *cobra.Command {
	var f deliverFlags
	cmd := &cobra.Command{
		Use:   "deliver EVENT NAME",
		Short: "Sign and send a delivery to a webhook, as Gemini does",
		Long: "Sends an event about an operation to a webhook, to try serve or a deployment. It is signed with\n" +
			"$OPLEDGER_WEBHOOK_SECRET: the secret of the receiver itself, or the name of its secret in Secret\n" +
			"Manager. The answer is printed with what it means.\n\n" +
			"The receiver cannot tell it from a delivery of Gemini's: it settles the operation, and its effects\n" +
			"run. The events are\n\n" +
			eventsOf("batch") + eventsOf("video") + strings.TrimSuffix(eventsOf("interaction"), "\n"),
		Example: "  opledger webhook deliver batch.succeeded batches/abc123\n" +
			"  opledger webhook deliver batch.failed batches/abc123 --id msg_1\n" +
			"  opledger webhook deliver batch.succeeded batches/abc123 --at 10m\n" +
			"  opledger webhook deliver video.generated operations/abc123 --to https://webhook-abc-uc.a.run.app",
		Args: terminal.Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.delivery(args[0], args[1], outside.Time())
			settings, settingsErr := config.Parse[deliverSettings](outside.Variables)
			if err := errors.Join(err, settingsErr, settings.check(), config.Unread(outside.Variables)); err != nil {
				return terminal.Usage(err)
			}
			key, err := settings.newestSecret(cmd.Context())
			if err != nil {
				return fmt.Errorf("OPLEDGER_WEBHOOK_SECRET: %w", err)
			}
			if d.header, err = gemini.SignedHeader(key, d.event.DeliveryID, d.at, d.body); err != nil {
				return fmt.Errorf("OPLEDGER_WEBHOOK_SECRET: %w", err)
			}
			d.ledger = ", on the ledger of the receiver"
			if slices.ContainsFunc(outside.Variables, func(v string) bool { return strings.HasPrefix(v, "OPLEDGER_STORE=") }) {
				d.ledger = open.NamedFlag(outside)
			}
			return d.send(cmd.Context(), outside)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "http://127.0.0.1:8080/webhook", "the URL of the webhook: of serve with /webhook, "+
		"of a deployment without")
	flags.StringVar(&f.id, "id", "", "the id of the delivery; the same id again is a duplicate (default a random one)")
	flags.StringVar(&f.at, "at", "", "its timestamp, to try a late delivery: an age such as 10m, "+
		"or a time such as 2026-11-21T02:00:00Z (default now)")
	terminal.JSONFlag(cmd, &outside)
	return cmd
}

// deliverSettings are the settings for signing.
type deliverSettings struct {
	Signing  config.SigningSecrets
	Emulator struct {
		Secrets string `env:"SECRET_MANAGER_EMULATOR_HOST"`
	}
}

func (s deliverSettings) check() error {
	if s.Signing.Secrets.IsZero() {
		return errors.New("OPLEDGER_WEBHOOK_SECRET: it is not set; set it to the secret of the webhook that is " +
			"delivered to, or to projects/PROJECT/secrets/SECRET")
	}
	return nil
}

// NewestSecret returns the secret that was added last.
func (s deliverSettings) newestSecret(ctx context.Context) (string, error) {
	manager := secret.New(secret.Options{Emulator: s.Emulator.Secrets})
	newest, err := NewestSecret(manager, s.Signing.Secrets)(ctx)
	return newest, errors.Join(err, manager.Close())
}

// delivery returns the delivery, unsigned, or every problem of the command line.
func (f deliverFlags) delivery(eventType, name string, now time.Time) (delivery, error) {
	var p diag.Problems
	to, err := url.Parse(f.to)
	p.When(err != nil || to.Host == "" || to.Scheme != "https" && to.Scheme != "http",
		"--to: it must be the http or https URL of a webhook, such as http://127.0.0.1:8080/webhook")
	at, err := terminal.ParsePast(f.at, now)
	p.Of("--at", err)
	d := delivery{to: f.to, at: at}
	if d.event.DeliveryID = f.id; f.id == "" {
		d.event.DeliveryID = "msg_" + strings.ToLower(rand.Text())
	} else if strings.ContainsFunc(f.id, func(r rune) bool { return r <= ' ' || r > '~' }) {
		p = append(p, errors.New("--id: it must be printable ASCII without spaces, such as msg_1"))
	}
	known := webhooks.Events()
	if !slices.Contains(known, eventType) {
		p = append(p, fmt.Errorf("there is no event %s%s; the events are %s",
			diag.Quote(eventType), diag.DidYouMean(eventType, known), strings.Join(known, ", ")))
	} else {
		d.body = deliveryBody(eventType, name, at)
		d.event, err = gemini.DecodeEvent(d.event.DeliveryID, d.body)
		if malformed, ok := errors.AsType[*gemini.MalformedError](err); ok { // only the name is not of our own making
			err = terminal.Prefixed("name", malformed.Err)
		}
		if err == nil {
			err = errors.Join(named(name, d.event.Name.Key), fits(eventType, d.event.Name.Key))
		}
		p = append(p, err)
	}
	return d, errors.Join(p...)
}

// named refuses a name that no operation at Gemini has.
func named(name string, key operation.Key) error {
	id := key.ID()
	if key.Collection() == "" {
		id = string(key) // a bare id; with a slash it is of no collection of Gemini's
	}
	if strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") == "" {
		return nil
	}
	return fmt.Errorf("name: no operation at Gemini is called %s; a name is batches/ID, interactions/ID, "+
		"models/MODEL/operations/ID or the bare ID, which has letters, digits, - and _", diag.Quote(name))
}

// fits refuses an event about an operation of a collection that has no such events.
func fits(eventType string, key operation.Key) error {
	kind, _, _ := strings.Cut(eventType, ".")
	collections := map[string][]operation.Collection{
		"batch":       {operation.Batches, operation.BatchJobs, operation.BatchPredictionJobs},
		"video":       {operation.Operations},
		"interaction": {operation.Interactions},
	}[kind]
	if c := key.Collection(); c == "" || slices.Contains(collections, c) {
		return nil
	}
	return fmt.Errorf("name: %s does not fit %s, which is about one of %s/", diag.Quote(string(key)), eventType,
		collections[0])
}

// eventsOf is a line of the events about one kind of operation.
func eventsOf(kind string) string {
	events := slices.DeleteFunc(webhooks.Events(), func(event string) bool { return !strings.HasPrefix(event, kind+".") })
	return "  " + strings.Join(events, ", ") + "\n"
}

// deliveryBody is the documented body of an event, which happened at a time.
func deliveryBody(eventType, name string, at time.Time) []byte {
	data := map[string]string{"id": name}
	if strings.HasSuffix(eventType, ".failed") {
		data["error_code"], data["error_message"] = "INTERNAL", "Sent by opledger webhook deliver."
	}
	body, err := json.Marshal(map[string]any{
		"type": eventType, "version": "v1", "timestamp": at.UTC().Format(time.RFC3339), "data": data,
	})
	if err != nil {
		panic(err) // texts alone have no error
	}
	return body
}

// A delivery is a signed event on its way.
type delivery struct {
	to     string
	at     time.Time
	body   []byte
	header map[string][]string
	event  operation.Event // as the receiver reads it
	ledger string          // what a command ends with that is to use the receiver's ledger
}

// NewestSecret returns what reads the newest signing secret: the last one that was added.
func NewestSecret(secrets *secret.Client, from config.Secrets) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if len(from.Names) == 0 {
			return from.Values[0], nil
		}
		enabled, err := secrets.Enabled(ctx, from.Names[0])
		if err != nil {
			return "", err
		}
		return string(enabled[0].Data), nil
	}
}
