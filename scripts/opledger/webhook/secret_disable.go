package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/secret"
)

// supersededFor is how long a secret stays enabled after the next one was stored: Gemini signs with
// it for 24 hours, and a delivery may be late.
const supersededFor = 25 * time.Hour

// superseded returns the enabled versions that no webhook signs with any more: Gemini lists them
// for none, and a newer version has existed for supersededFor by Secret Manager's clock. enabled
// and the result have the newest first.
func superseded(enabled []secret.Version, hooks []webhooks.Webhook, now time.Time) []secret.Version {
	var old []secret.Version
	for i := 1; i < len(enabled); i++ {
		since := enabled[0].CreateTime.Sub(enabled[i-1].CreateTime)
		if since > supersededFor && !signing(hooks, string(enabled[i].Data), now) {
			old = append(old, enabled[i])
		}
	}
	return old
}

// signing reports whether a webhook signs with the secret, as far as Gemini's list shows. Gemini
// may list an expired secret, with which it no longer signs.
func signing(hooks []webhooks.Webhook, text string, now time.Time) bool {
	for _, hook := range hooks {
		for _, listed := range hook.Secrets {
			if (listed.Expires.IsZero() || listed.Expires.After(now)) && listed.Of(trimmed(text)) {
				return true
			}
		}
	}
	return false
}

// disableSuperseded disables the superseded versions, and returns their names. It only warns about
// failures: a version that stays enabled can be disabled at any time.
func (a *webhookAdmin) disableSuperseded(ctx context.Context) (disabled []string) {
	hooks, err := a.gemini.List(ctx)
	if err != nil {
		a.outside.Note("older versions stay enabled, because it is not known which of them Gemini still signs with: %v", err)
		return nil
	}
	enabled, err := a.secrets.Enabled(ctx, a.name)
	if err != nil {
		a.outside.Note("older versions stay enabled: %v", err)
		return nil
	}
	for _, version := range superseded(enabled, hooks, a.outside.Time()) {
		if err := a.secrets.Disable(ctx, version.Name); err != nil {
			a.outside.Note("%v", err)
			continue
		}
		disabled = append(disabled, version.Name)
	}
	return disabled
}

// disableRevoked disables every version that is older than a webhook's new secret, and returns
// their names. It keeps only versions that another webhook signs with: a stolen secret is revoked
// even while Gemini lists it for this webhook. An error says which revoked secrets may still be
// accepted, and how to disable them.
func (a *webhookAdmin) disableRevoked(ctx context.Context, id, version, text string) (disabled []string, err error) {
	enabled, err := a.secrets.Enabled(ctx, a.name)
	if err != nil {
		return nil, fmt.Errorf("webhook %s has a new secret, but the old ones may still be accepted, because they could "+
			"not be read: %w; disable now every version older than %s that no other webhook signs with: "+
			"gcloud secrets versions list %s --project=%s shows them, and %s disables one",
			id, err, version, a.name.ID, a.name.Project, a.disableCommand("NUMBER"))
	}
	// The list may lack the version that was just stored; then every listed version is older.
	old := enabled[1+slices.IndexFunc(enabled, func(v secret.Version) bool { return string(v.Data) == text }):]
	if len(old) == 0 {
		return nil, nil
	}
	hooks, err := a.gemini.List(ctx)
	if err != nil {
		return nil, a.stillAccepted(id, old,
			fmt.Errorf("a version that another webhook signs with must stay, and the webhooks could not be listed: %w", err))
	}
	hooks = slices.DeleteFunc(hooks, func(hook webhooks.Webhook) bool { return hook.ID == id })
	var left []secret.Version
	var why []error
	for _, one := range old {
		if signing(hooks, string(one.Data), a.outside.Time()) {
			continue
		}
		if err := a.secrets.Disable(ctx, one.Name); err != nil {
			left, why = append(left, one), append(why, err)
			continue
		}
		disabled = append(disabled, one.Name)
	}
	if len(left) > 0 {
		return disabled, a.stillAccepted(id, left, errors.Join(why...))
	}
	return disabled, nil
}

// stillAccepted is the error of a revocation that left versions enabled.
func (a *webhookAdmin) stillAccepted(id string, left []secret.Version, why error) error {
	texts := make([]string, len(left))
	for i, version := range left {
		_, number, _ := strings.Cut(version.Name, "/versions/")
		texts[i] = fmt.Sprintf("%s with %s", version.Name, a.disableCommand(number))
	}
	return fmt.Errorf("webhook %s has a new secret, but old ones are still enabled and accepted: %w; disable them now: %s",
		id, why, strings.Join(texts, ", "))
}

func (a *webhookAdmin) disableCommand(number string) string {
	return fmt.Sprintf("gcloud secrets versions disable %s --secret=%s --project=%s", number, a.name.ID, a.name.Project)
}
