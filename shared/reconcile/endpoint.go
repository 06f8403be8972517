package reconcile

import (
	"context"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// An Endpoint is the webhook that Gemini delivers to. Gemini disables it by itself after deliveries have failed for a while, and
// tells nobody; then every end waits for a look-up.
type Endpoint struct {
	Webhooks *webhooks.Client
	URL      string
	// Reenable enables it again where Gemini has disabled it; else a person does.
	Reenable bool
	// Created reports whether it was ever created. Until then that Gemini has none is no alert. Nil: it was.
	Created func(context.Context) (bool, error)
}

// checkEndpoint says aloud that the webhook does not deliver, and enables it again where the settings say so. One that a person
// disabled stays as it is.
func (p *pass) checkEndpoint(ctx context.Context) {
	if p.Endpoint == nil {
		return
	}
	if err := p.pace.wait(ctx); err != nil {
		p.count.fail(ctx, "waiting to look at the webhook", err)
		return
	}
	hooks, err := p.Endpoint.Webhooks.Find(ctx, p.Endpoint.URL)
	if err != nil {
		p.count.fail(ctx, "looking at the webhook", err)
		return
	}
	if len(hooks) == 0 {
		p.noEndpoint(ctx)
	}
	enabled := false
	for _, hook := range hooks {
		if hook.State == webhooks.Enabled {
			enabled = true
			continue
		}
		p.disabled(ctx, hook)
	}
	if found := p.count.unannounced; enabled && found > 0 {
		// Once in a while a pass is faster, or a delivery is lost. Only together with deliveries that
		// are refused, while none is taken, does it show that nothing genuine passes.
		p.Log.InfoContext(ctx, "found ends that Gemini's webhook did not tell", "event", "reconcile", "outcome",
			"unannounced", "found", found)
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
			p.Log.InfoContext(ctx, "no webhook was created yet; run opledger webhook create", "event", "reconcile", "outcome",
				"webhook-awaited")
			return
		}
	}
	_ = p.alert(ctx, "webhooks/missing", ledger.AlertDisabled, time.Time{},
		"Gemini has no webhook for OPLEDGER_WEBHOOK_URL, so nothing is delivered; run opledger webhook create")
}

func (p *pass) disabled(ctx context.Context, hook webhooks.Webhook) {
	_ = p.alert(ctx, operation.Key("webhooks/"+hook.ID), ledger.AlertDisabled, time.Time{},
		"the webhook's state is "+hook.State+", so nothing is delivered; see opledger webhook check")
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

// alert says something aloud that is about no operation: in the log, and by the effects that ask
// for it, once in a period; in every pass where nothing keeps count because no effect asks. The
// error, which is counted, says that its effects may not be planned.
func (p *pass) alert(ctx context.Context, subject operation.Key, alert ledger.Alert, since time.Time,
	detail string) error {
	alerted, err := p.Ledger.AlertAbout(ctx, subject, alert, since, detail)
	if err != nil {
		p.count.fail(ctx, "planning an alert", err)
	}
	if !alerted.Asked || alerted.Planned > 0 {
		p.Log.WarnContext(ctx, detail, "event", "alert", "reason", strings.ToLower(string(alert)), "operation", subject)
	}
	p.unpublished(ctx, alerted.PublishErr)
	return err
}
