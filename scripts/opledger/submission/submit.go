package submission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// NewSubmit makes opledger submit.
func NewSubmit(outside terminal.Environment) *cobra.Command {
	return terminal.Group(&cobra.Command{
		Use:   "submit",
		Short: "Record an intent, start an operation at Gemini and register it; or submit a job",
		Long: "Records the intent, starts the operation at Gemini with the correlation id in it, and registers it. If\n" +
			"the command dies in between, the operation's event or reconcile binds it to its intent. The same\n" +
			"--correlation-id starts nothing twice: the command finds what an earlier run started, or says that it\n" +
			"cannot know yet. After a refusal by Gemini no intent is left, and the same --correlation-id may be used\n" +
			"again at once.\n\n" +
			"The API key is $GEMINI_API_KEY, or in the secret that $OPLEDGER_GEMINI_API_KEY_SECRET names.",
		Example: "  opledger submit batch --model gemini-3.5-flash --file files/reviews --job-kind batch-review-classify\n" +
			"  opledger submit video --model veo-3.1-generate-preview --prompt 'a cat on a train'\n" +
			"  opledger submit job reviews.jsonl --id nightly-2026-11-23 --model gemini-3.5-flash",
	}, newSubmitBatch(outside), newSubmitVideo(outside),
		newSubmitInteraction(outside), newSubmitJob(outside))
}

// submitSettings are the settings for submitting: none of the webhook function.
type submitSettings struct {
	Project  config.Project
	Ledger   config.Ledger
	Gemini   config.Gemini
	Handlers config.Handlers
	Results  config.Results
}

// submitFlags are the flags of every kind of operation.
type submitFlags struct {
	submissionFlags
	webhookURL string
}

func (f *submitFlags) add(cmd *cobra.Command, outside *terminal.Environment) {
	open.WriterFlags(cmd, outside)
	f.submissionFlags.add(cmd, "your own id for the operation, such as nightly-2026-11-21 (default a random one)")
	cmd.Flags().StringVar(&f.webhookURL, "webhook-url", "",
		"an https address that Gemini delivers to instead of the registered webhooks")
}

// check reads the flags. The error joins every problem.
func (f *submitFlags) check() error {
	var problems []error
	if f.webhookURL != "" {
		problems = append(problems, terminal.Prefixed("--webhook-url", config.CheckWebhookURL(f.webhookURL)))
	}
	if f.said.CorrelationID != "" {
		problems = append(problems, terminal.Prefixed("--correlation-id", gemini.CheckCorrelationID(f.said.CorrelationID)))
	}
	return errors.Join(append(problems, f.submission().Validate().Err())...)
}

// uris is the address of --webhook-url, if any.
func (f *submitFlags) uris() []string {
	if f.webhookURL == "" {
		return nil
	}
	return []string{f.webhookURL}
}

// webhook is --webhook-url for the batches and videos of the SDK.
func (f *submitFlags) webhook() *genai.WebhookConfig { return &genai.WebhookConfig{Uris: f.uris()} }

// submit calls do with a submitter, prints the outcome, and runs the effects that were planned in
// the process.
func (f *submitFlags) submit(
	cmd *cobra.Command, outside terminal.Environment,
	do func(context.Context, *submit.Submitter) (submit.Submitted, error),
) error {
	ctx := cmd.Context()
	if err := f.check(); err != nil {
		return terminal.Usage(err)
	}
	settings, where, err := open.Parse[submitSettings](outside)
	if err != nil {
		return err
	}
	key, err := cloud.GeminiKey(ctx, settings.Gemini)
	if err != nil {
		return err
	}
	w, err := open.Write(ctx, outside, server.Settings{
		Project: settings.Project, Ledger: settings.Ledger, Handlers: settings.Handlers, Results: settings.Results,
	}, where, server.Options{})
	if err != nil {
		return err
	}
	return w.Do(ctx, func() error {
		redactor := diag.ForAPIKey(key, settings.Gemini.BaseURL)
		client, err := Genai(ctx, settings.Gemini, key, redactor)
		if err != nil {
			return err
		}
		submitted, err := do(ctx, Submitter(w.Ledger, client))
		return f.report(outside, redactor, submitted, err)
	})
}

// Submitter connects a ledger with Gemini.
func Submitter(l *ledger.Ledger, client *genai.Client) *submit.Submitter {
	return submit.New(submit.Options{Intents: l.Intents, Operations: l.Operations, Gemini: client})
}

// Genai returns the SDK's client.
func Genai(ctx context.Context, settings config.Gemini, key string, redactor *diag.Redactor) (*genai.Client,
	error,
) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, // otherwise the environment may choose another service
		// net/http would send the API key's header to wherever a redirect leads.
		HTTPClient: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
		HTTPOptions: genai.HTTPOptions{BaseURL: settings.BaseURL},
	})
	if err != nil {
		// Some of the SDK's errors contain its configuration.
		return nil, errors.New("making a Gemini client: " + redactor.Text(err.Error()))
	}
	return client, nil
}

// report prints what was submitted. An error says what is recorded, and what happens next.
func (f *submitFlags) report(
	outside terminal.Environment, redactor *diag.Redactor, submitted submit.Submitted, err error,
) error {
	if err != nil {
		what := errors.New(redactor.Text(err.Error()))
		if errors.Is(err, submit.ErrInput) || errors.Is(err, gemini.ErrCorrelationID) ||
			errors.Is(err, operation.ErrSubmission) {
			return terminal.Usage(what)
		}
		what = fmt.Errorf("%w%s", what, WhatNext(submitted, err, open.NamedFlag(outside)))
		if unstored(err) {
			return terminal.Unread(what)
		}
		return what
	}
	if taken := submitted.Registered.CorrelationErr; taken != nil {
		outside.Note("the job was submitted twice; this one is registered without the correlation id: %s",
			phrase.Safe(taken.Error()))
	}
	what := "submitted"
	if submitted.Known {
		what = "was submitted before"
	}
	return outside.Print(map[string]any{
		"operation": submitted.Name, "correlationId": submitted.CorrelationID, "known": submitted.Known,
		"added": append([]string{}, submitted.Registered.Added...), "kept": append([]string{}, submitted.Kept...),
	}, "%s %s, correlation id %s%s", phrase.Safe(submitted.Name), what, submitted.CorrelationID,
		mergedWords(ledger.Merged{Added: submitted.Registered.Added, Kept: submitted.Kept}))
}

// unstored reports whether the ledger gave no answer. Of an error that is about Gemini's answer, or
// about an earlier run, something is known.
func unstored(err error) bool {
	known := slices.ContainsFunc([]error{submit.ErrRefused, submit.ErrUnanswered, submit.ErrUncertain},
		func(of error) bool { return errors.Is(err, of) })
	return !known && terminal.ExitCode(err) == terminal.ExitUnread
}

// WhatNext says after an error what is recorded, and what to do. Its commands end with store.
func WhatNext(submitted submit.Submitted, err error, store string) string {
	id := submitted.CorrelationID
	switch {
	case errors.Is(err, submit.ErrUnregistered):
		return fmt.Sprintf(". It runs. Its intent %s is recorded, so that its event or reconcile registers it; "+
			"to do it now: opledger register %s --correlation-id %s%s", id, phrase.ShellWord(submitted.Name),
			phrase.ShellWord(id), store)
	case errors.Is(err, submit.ErrUnanswered):
		return fmt.Sprintf(". Its intent %s is recorded: if it runs, its event or, for a batch, reconcile registers it. "+
			"Submitting it under another id may start it twice; opledger intent list%s shows what is waited for", id, store)
	case errors.Is(err, submit.ErrUncertain) && !submitted.WaitUntil.IsZero():
		return ". Nothing was submitted now. Repeat the command: it then finds the batch, or submits it"
	case errors.Is(err, submit.ErrUncertain):
		return fmt.Sprintf(". Nothing was submitted now. If it runs, its event binds the intent %s: see opledger "+
			"intent list%s. If you are sure that it does not run, submit it under another --correlation-id", id, store)
	case errors.Is(err, submit.ErrRefused):
		return fmt.Sprintf(". Nothing runs: fix that and submit it again, also under the same --correlation-id %s", id)
	default:
		return ". Nothing was submitted now"
	}
}
