package deployment

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/genai"

	"github.com/opledger/opledger/scripts/opledger/canary"
	"github.com/opledger/opledger/scripts/opledger/submission"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/cloud"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/submit"
)

// canarySpend are the flags of the step that costs money.
type canarySpend struct {
	on, noWebhook bool
	model         string
	within        time.Duration
}

func (f *canarySpend) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "spend", false,
		"also submit a real batch of one tiny request, and time each hop; it costs money, and its effects run")
	cmd.Flags().BoolVar(&f.noWebhook, "no-webhook", false, "leave the batch of --spend to reconciliation")
	cmd.Flags().StringVar(&f.model, "model", "gemini-3.5-flash", "the model of --spend")
	cmd.Flags().DurationVar(&f.within, "within", time.Hour, "how long --spend waits for the batch to end")
	terminal.BeforeRun(cmd, func() error {
		for _, name := range []string{"no-webhook", "model", "within", "yes"} {
			if !f.on && cmd.Flags().Changed(name) {
				return terminal.Usagef(cmd, "--%s needs --spend", name)
			}
		}
		if f.within <= 0 {
			return terminal.Usagef(cmd, "--within: it must be longer than zero, such as 1h")
		}
		return nil
	})
}

// spendSettings are those of the step that costs money, beside canarySettings.
type spendSettings struct{ Gemini config.Gemini }

// agree asks the operator, who must know which effects will run.
func (f *canarySpend) agree(ctx context.Context, outside terminal.Environment, rules []ledger.Rule) error {
	rec := operation.Record{Submission: operation.Submission{JobKind: canary.JobKind}, State: operation.Succeeded}
	effects := "no effect"
	var names []string
	for _, rule := range rules {
		if rule.Matches(rec) {
			names = append(names, rule.Name)
		}
	}
	if len(names) > 0 {
		effects = "these effects: " + strings.Join(names, ", ")
	}
	question := fmt.Sprintf("--spend submits a batch of one request to %s, which costs money. Its job kind is %s, "+
		"for which OPLEDGER_EFFECTS has %s. Go on?", f.model, canary.JobKind, effects)
	return terminal.Agree(ctx, outside, question, "nothing was sent")
}

// open returns what the step works with.
func (f *canarySpend) open(ctx context.Context, settings config.Gemini, endpoint config.Endpoint, l *ledger.Ledger) (
	*canary.Spend, error,
) {
	key, err := cloud.GeminiKey(ctx, settings)
	if err != nil {
		return nil, err
	}
	hooks, err := webhooks.NewClient(webhooks.Options{APIKey: key, BaseURL: settings.BaseURL})
	if err != nil {
		return nil, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	redactor := diag.ForAPIKey(key, settings.BaseURL)
	client, err := submission.Genai(ctx, settings, key, redactor)
	if err != nil {
		return nil, err
	}
	submitter := submission.Submitter(l, client)
	spend := &canary.Spend{
		Webhooks: hooks, NoWebhook: f.noWebhook || endpoint.Kind == config.WebhookNone, Within: f.within,
		Submit: func(ctx context.Context, id string, uris []string) (string, error) {
			return f.submit(ctx, submitter, redactor, id, uris)
		},
		Delete: func(ctx context.Context, name string) error {
			if _, err := client.Batches.Delete(ctx, name, nil); err != nil {
				if answered, ok := errors.AsType[genai.APIError](err); ok && answered.Code == http.StatusNotFound {
					return nil
				}
				return errors.New(redactor.Text(err.Error()))
			}
			return nil
		},
	}
	if endpoint.Kind == config.WebhookDynamic {
		spend.Dynamic = endpoint.URL
	}
	return spend, nil
}

// submit starts the batch: one request, whose answer is a word.
func (f *canarySpend) submit(ctx context.Context, s *submit.Submitter, redactor *diag.Redactor, id string,
	uris []string,
) (string, error) {
	submitted,
		err := s.Batch(ctx, operation.Submission{CorrelationID: id, JobKind: canary.JobKind}, f.model, &genai.BatchJobSource{
		InlinedRequests: []*genai.InlinedRequest{{Contents: genai.Text("Answer with one word: ok")}},
	}, &genai.CreateBatchJobConfig{DisplayName: canary.JobKind, WebhookConfig: &genai.WebhookConfig{Uris: uris}})
	if err != nil {
		return submitted.Name, errors.New(redactor.Text(err.Error()) + submission.WhatNext(submitted, err, ""))
	}
	return submitted.Name, nil
}
