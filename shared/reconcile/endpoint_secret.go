package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/secret"
)

// mostCompared is how many of the webhooks that were compared are named.
const mostCompared = 20

// compareAll compares the secret with those of all webhooks that Gemini has, where it is not known which of them
// delivers here [W1]: an own one is among them, and others may be. Its error is logged and not counted: a process that
// only polls may have a key, or a proxy, that knows of no webhooks.
func (p *pass) compareAll(ctx context.Context) error {
	err := p.pace.wait(ctx)
	var hooks []webhooks.Webhook
	if err == nil {
		hooks, err = p.Endpoint.Webhooks.List(ctx)
	}
	switch {
	case err != nil:
		p.Log.InfoContext(ctx, "Gemini's webhooks cannot be listed: whether one signs with another secret is not known",
			"event", "reconcile", "outcome", "webhooks-unlisted", "error", err)
	case len(hooks) == 0:
		p.last.NoWebhook, p.last.WrongSecret = !p.Tokens, &ledger.WrongSecret{}
	default:
		p.checkSecrets(ctx, hooks)
	}
	return err
}

// checkSecrets finds out whether Gemini signs with a secret that the webhook does not verify with [W1]. Gemini lists
// the last characters of its own, so this is known before the first delivery, and no stranger's request can raise it.
// Where all deliveries are refused, look-ups must not become rarer. Its errors are counted.
func (p *pass) checkSecrets(ctx context.Context, hooks []webhooks.Webhook) {
	if p.Endpoint.Secrets == nil {
		return
	}
	known, err := p.Endpoint.Secrets(ctx)
	if errors.Is(err, secret.ErrDenied) { // of an operator's account: that of the function may read it
		p.Log.InfoContext(ctx, "whether Gemini signs with the webhook's secret is not checked: it may not be read here",
			"event", "reconcile", "outcome", "secret-unread", "error", err)
		return
	}
	if err != nil {
		p.count.fail(ctx, "reading the webhook's secret, to compare it with Gemini's", err)
		return
	}
	var fits *webhooks.Webhook
	wrong := ledger.WrongSecret{}
	for _, hook := range p.comparable(hooks) {
		signs, unknown := hook.Unknown(known, p.start)
		if !unknown {
			fits = &hook
			continue
		}
		wrong.Webhook, wrong.Shown = hook.ID, signs.Truncated
		if p.Endpoint.URL == "" && len(wrong.Compared) < mostCompared {
			wrong.Compared = append(wrong.Compared, hook.ID)
		}
	}
	if fits != nil {
		p.last.WrongSecret = &ledger.WrongSecret{}
		p.fits(ctx, *fits)
		return
	}
	p.last.WrongSecret = &wrong
	if wrong.Webhook == "" { // there was none to compare
		return
	}
	p.delivered = false
	p.alertSecret(ctx, wrong)
}

// comparable returns the webhooks whose secrets say something, the enabled ones last, in the order of their ids: two
// passes name the same. Gemini disables one whose deliveries fail, as all do with a wrong secret. Where its address is
// known that is said; else such ones are compared, too.
func (p *pass) comparable(hooks []webhooks.Webhook) []webhooks.Webhook {
	found := slices.DeleteFunc(slices.Clone(hooks), func(hook webhooks.Webhook) bool {
		return hook.State != webhooks.Enabled && (hook.State != webhooks.DisabledByFailures || p.Endpoint.URL != "")
	})
	slices.SortFunc(found, func(a, b webhooks.Webhook) int {
		return cmp.Or(cmp.Compare(a.State, b.State), cmp.Compare(a.ID, b.ID))
	})
	return found
}

// fits notes that a webhook signs with a secret that is known. Where no address says which webhook delivers here, that
// one does.
func (p *pass) fits(ctx context.Context, hook webhooks.Webhook) {
	if _, shown := hook.Unknown(nil, p.start); !shown { // there was nothing to compare
		return
	}
	p.last.SecretFitsAt = p.start
	if p.Endpoint.URL != "" {
		return
	}
	p.lookups.SawWebhook(hook.ID, hook.State == webhooks.Enabled)
	if hook.State == webhooks.Enabled {
		p.last.Webhook = ledger.WebhookEnabled
		return
	}
	p.last.Webhook = ledger.WebhookDisabled
	p.disabled(ctx, hook)
}

// alertSecret raises the alert about a secret that the webhook does not know, once two passes in a row have found it:
// the first may fall between the rotation at Gemini and the storing of the new secret. Overview and status say it at
// once, by the report of the pass.
func (p *pass) alertSecret(ctx context.Context, wrong ledger.WrongSecret) {
	detail := advise(advise("Gemini signs the webhook's deliveries with "+wrong.Shown+
		", which the webhook does not verify with, so that it refuses each", wrong.Among()), p.Endpoint.ToCheck)
	subject := operation.Key("webhooks/" + wrong.Webhook)
	if !p.lookups.KnewSecret(wrong) {
		p.Log.WarnContext(ctx, detail, "event", "reconcile", "outcome", "secret-unknown", "operation", subject)
		return
	}
	p.planEndpoint(ctx, subject, time.Time{}, detail)
	p.Log.ErrorContext(ctx, detail, "event", "alert", "reason", "wrong-secret", "operation", subject)
}
