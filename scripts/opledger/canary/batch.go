package canary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// JobKind is the job kind of a canary's batch, by which OPLEDGER_EFFECTS may choose its effects.
const JobKind = "opledger-canary"

// nowhere is where a batch is delivered that is to be settled without the webhook. The domain is
// reserved never to exist (RFC 2606).
const nowhere = "https://opledger-canary.invalid/"

// A Spend says how a real batch is submitted. It costs money.
type Spend struct {
	// Submit starts a batch of one tiny request through package submit, with that correlation id. It
	// is delivered to uris; none: to the static webhook. It bounds its time itself, as ctx does not
	// end. Delete deletes the batch at Gemini.
	Submit func(ctx context.Context, correlationID string, uris []string) (name string, err error)
	Delete func(ctx context.Context, name string) error
	// Webhooks finds the static webhook.
	Webhooks Webhooks
	// Dynamic is the address of the webhook where the batch names it itself, because the deployment
	// has no static one.
	Dynamic string
	// NoWebhook leaves the batch to reconciliation.
	NoWebhook bool
	// Within is how long to wait for Gemini to end it.
	Within time.Duration
}

// Webhooks reads the webhooks at Gemini.
type Webhooks interface {
	Find(ctx context.Context, uri string) ([]webhooks.Webhook, error)
}

// How long the event and the effects may take after the batch has ended.
const (
	eventLimit  = 2 * time.Minute
	effectLimit = 5 * time.Minute
)

// batch submits a real batch, times each hop, and removes everything.
func (c *Canary) batch(ctx context.Context, s *Step) error {
	if err := c.staticWebhook(ctx); err != nil {
		return err
	}
	var uris []string
	switch {
	case c.Spend.NoWebhook:
		uris = []string{nowhere}
	case c.Spend.Dynamic != "":
		uris = []string{c.Spend.Dynamic}
	}
	// Not interrupted: without the name of what Gemini has started there is nothing to remove.
	name, err := c.Spend.Submit(context.WithoutCancel(ctx), c.key.ID(), uris)
	if name != "" {
		defer c.removeBatch(ctx, s, name)
	}
	if err != nil {
		return cut("GEMINI_API_KEY, --model, and what Gemini says", "the batch was not submitted: %w", err)
	}
	parsed, err := operation.ParseName(name, operation.Batches)
	if err != nil {
		return fmt.Errorf("reading the batch's name: %w", err)
	}
	s.did("a batch of one request was submitted")
	return c.follow(ctx, s, parsed.Key)
}

// staticWebhook checks that the webhook at Gemini is enabled where one is used, before money is spent.
func (c *Canary) staticWebhook(ctx context.Context) error {
	if c.Spend.NoWebhook || c.Spend.Dynamic != "" {
		return nil
	}
	found, err := c.Spend.Webhooks.Find(ctx, c.URL)
	switch {
	case err != nil:
		return cut("opledger webhook check", "Gemini's webhooks cannot be read: %w", err)
	case len(found) == 0:
		return cut("opledger webhook create", "Gemini has no webhook for this address: nothing is delivered")
	case found[0].State != webhooks.Enabled:
		return cut("opledger webhook check; infra/playbooks/webhook-disabled.md",
			"the webhook at Gemini is %s: nothing is delivered", strings.ReplaceAll(found[0].State, "_", " "))
	}
	return nil
}

// follow waits for each hop of the batch, and times it.
func (c *Canary) follow(ctx context.Context, s *Step, key operation.Key) error {
	story, err := c.until(ctx, key, c.Spend.Within, func(story ledger.Story) bool { return story.Record.Settled() })
	if err != nil {
		return err
	}
	record := story.Record
	if !record.Settled() {
		return cut("opledger show "+string(key)+"; --within waits longer", "the batch had not ended after %s: it is %s",
			c.Spend.Within, record.State)
	}
	s.hop("submitted", "ended at Gemini", record.SubmittedAt, record.UpdateTime)
	if !c.Spend.NoWebhook {
		story, err = c.until(ctx, key, eventLimit, func(story ledger.Story) bool { return !eventAt(story).IsZero() })
		if err != nil {
			return err
		}
		if eventAt(story).IsZero() {
			if err := c.staticWebhook(ctx); err != nil {
				return err
			}
			return cut("opledger webhook check; "+c.logs(c.Place.name("webhook")),
				"Gemini's event did not come within %s of the completion, which %s found", eventLimit, record.SettledBy)
		}
		s.hop("ended at Gemini", "event", record.UpdateTime, eventAt(story))
	}
	s.hop("submitted", "settled", record.SubmittedAt, record.SettledAt)
	s.did("it was %s, settled by %s", record.State, record.SettledBy)
	if record.State != operation.Succeeded {
		return cut("opledger show "+string(key), "the batch ended as %s: %s %s", record.State, record.Result.ErrorCode,
			record.Result.ErrorMessage)
	}
	return c.effectsOf(ctx, s, key)
}

// effectsOf waits until every effect of the batch is done.
func (c *Canary) effectsOf(ctx context.Context, s *Step, key operation.Key) error {
	story, err := c.until(ctx, key, effectLimit, func(story ledger.Story) bool {
		return !slices.ContainsFunc(story.Effects, func(e ledger.Effect) bool {
			return e.Status() == operation.EffectOpen
		})
	})
	if err != nil {
		return err
	}
	if len(story.Effects) == 0 {
		s.did("no effect in OPLEDGER_EFFECTS is for the job kind %s, so none ran", JobKind)
	}
	for _, e := range story.Effects {
		if e.Status() != operation.EffectDone {
			return cut("opledger show "+string(key), "the effect %s is not done but %s: %s", e.Name, e.State, e.LastError)
		}
		s.hop("settled", "effect "+e.Name+" DONE", story.Record.SettledAt, e.DoneAt)
	}
	return nil
}

// eventAt is when the first event of the batch came by webhook; zero if none has.
func eventAt(story ledger.Story) time.Time {
	for _, d := range story.Deliveries {
		if d.Source == operation.Webhook {
			return d.ReceivedAt
		}
	}
	return time.Time{}
}

// until reads the story until it is as wanted, and returns the last one, also at the limit.
func (c *Canary) until(ctx context.Context, key operation.Key, limit time.Duration, wanted func(ledger.Story) bool) (
	story ledger.Story, err error,
) {
	_, err = c.await(ctx, limit, func() (bool, error) {
		var err error
		if story, err = c.Ledger.Operations.Show(ctx, key); err != nil {
			return false, cut("the database in OPLEDGER_STORE", "the batch cannot be looked up: %w", err)
		}
		return wanted(story), nil
	})
	return story, err
}

// removeBatch deletes the batch at Gemini and in the ledger.
func (c *Canary) removeBatch(ctx context.Context, s *Step, name string) {
	ctx, cancel := cleanUp(ctx)
	defer cancel()
	if err := c.Spend.Delete(ctx, name); err != nil {
		s.left = append(s.left, cut("delete "+name+" at Gemini", "the batch was not deleted at Gemini: %w", err))
	}
	parsed, err := operation.ParseName(name, operation.Batches)
	if err == nil {
		_, err = c.Ledger.Operations.Forget(ctx, parsed.Key)
	}
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		s.left = append(s.left, cut("opledger forget "+name, "the batch was not removed from the ledger: %w", err))
	}
}
