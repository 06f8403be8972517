package reconcile

import (
	"context"
	"time"

	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An Endpoint is the webhook that Gemini delivers to. Gemini disables it after deliveries have
// failed for a while, without an event. From then on every completion waits for a look-up.
type Endpoint struct {
	Webhooks *webhooks.Client
	// URL is where the webhook delivers to. Empty: which of Gemini's webhooks does is not known, so that their secrets
	// alone are compared.
	URL string
	// Reenable enables the webhook again after Gemini disabled it.
	Reenable bool
	// Created reports whether the webhook was ever created. Before that, its absence is no alert.
	// Nil: it was created.
	Created func(context.Context) (bool, error)
	// Secrets returns those that the webhook verifies with. Nil: they are not known to this process.
	Secrets func(context.Context) ([]string, error)
	// ToCreate and ToCheck tell the operator how to create and check the webhook. They end the alerts.
	ToCreate, ToCheck string
}

// checkEndpoint alerts that the webhook does not deliver, and enables it again if the settings say
// so. A webhook that an operator disabled stays disabled. Its errors are counted.
func (p *pass) checkEndpoint(ctx context.Context) error {
	if p.Endpoint == nil {
		return nil
	}
	if p.Endpoint.URL == "" {
		return p.compareAll(ctx)
	}
	if err := p.pace.wait(ctx); err != nil {
		p.count.fail(ctx, "waiting to check the webhook", err)
		return err
	}
	hooks, err := p.Endpoint.Webhooks.Find(ctx, p.Endpoint.URL)
	if err != nil {
		p.count.fail(ctx, "checking the webhook", err)
		return err
	}
	if len(hooks) == 0 {
		p.noEndpoint(ctx)
		p.last.WrongSecret = &ledger.WrongSecret{}
		return nil
	}
	p.last.Webhook = ledger.WebhookDisabled
	for _, hook := range hooks {
		p.lookups.SawWebhook(hook.ID, hook.State == webhooks.Enabled)
		if hook.State == webhooks.Enabled {
			p.delivered, p.last.Webhook = true, ledger.WebhookEnabled
			continue
		}
		p.disabled(ctx, hook)
	}
	p.checkSecrets(ctx, hooks)
	return nil
}

// logUnannounced logs that look-ups found terminal states before any delivery reported them. A pass
// may be faster than a delivery, or a delivery is lost. An alert needs refused deliveries, too, and
// none accepted: then genuine deliveries are refused.
func (p *pass) logUnannounced(ctx context.Context) {
	if found := p.count.succeeded; p.Endpoint != nil && p.delivered && found > 0 {
		p.Log.InfoContext(ctx, "look-ups found terminal states that no delivery had reported", "event", "reconcile",
			"outcome", "unannounced", "found", found)
	}
}

// noEndpoint alerts that the webhook is gone, unless it was never created.
func (p *pass) noEndpoint(ctx context.Context) {
	if p.Endpoint.Created != nil {
		created, err := p.Endpoint.Created(ctx)
		if err != nil {
			p.count.fail(ctx, "finding out whether the webhook was ever created", err)
			return
		}
		if !created {
			p.last.Webhook = ledger.WebhookNone
			p.Log.InfoContext(ctx, advise("no webhook was created yet", p.Endpoint.ToCreate), "event", "reconcile",
				"outcome", "webhook-awaited")
			return
		}
	}
	p.last.Webhook = ledger.WebhookMissing
	p.alertEndpoint(ctx, "missing", p.lookups.WebhookEnabledAt(""),
		advise("Gemini has no webhook for the configured address, so nothing is delivered", p.Endpoint.ToCreate))
}

// advise ends a message with what the operator can do, if that is known.
func advise(message, remedy string) string {
	if remedy == "" {
		return message
	}
	return message + "; " + remedy
}

func (p *pass) disabled(ctx context.Context, hook webhooks.Webhook) {
	p.alertEndpoint(ctx, hook.ID, p.lookups.WebhookEnabledAt(hook.ID),
		advise("the webhook's state is "+hook.State+", so nothing is delivered", p.Endpoint.ToCheck))
	if !p.Endpoint.Reenable || hook.State != webhooks.DisabledByFailures {
		return
	}
	if _, err := p.Endpoint.Webhooks.Enable(ctx, hook.ID); err != nil {
		p.count.fail(ctx, "enabling the webhook again", err)
		return
	}
	p.Log.WarnContext(ctx, "enabled the webhook again", "event", "reconcile", "outcome", "webhook-enabled", "webhook",
		hook.ID)
}

// alertEndpoint raises the alert about a webhook that was last seen enabled then. It logs a line in
// every pass, because an alert policy closes when the lines end. Where a rule lists the alert, it
// also plans an effect, if the webhook was enabled since the last one, and then once in every
// AlertEvery.
func (p *pass) alertEndpoint(ctx context.Context, id string, since time.Time, detail string) {
	subject := operation.Key("webhooks/" + id)
	p.Log.WarnContext(ctx, detail, "event", "alert", "reason", "disabled", "operation", subject)
	p.planEndpoint(ctx, subject, since, detail)
}

// planEndpoint plans the alert DISABLED about a webhook that delivers nothing, where a rule lists it.
func (p *pass) planEndpoint(ctx context.Context, subject operation.Key, since time.Time, detail string) {
	alerted, err := p.Ledger.Passes.AlertAbout(ctx, subject, ledger.AlertDisabled, since, detail)
	if err != nil {
		p.count.fail(ctx, "planning an alert", err)
	}
	p.reportUnpublished(ctx, alerted.PublishErr)
}
