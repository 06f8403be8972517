package main

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
// it for 24 hours, and a delivery takes a while.
const supersededFor = 25 * time.Hour

// superseded returns those of the enabled versions, newest first, that nobody signs with any more:
// Gemini lists them for no webhook, and another has stood in their place for supersededFor. Ages
// are by Secret Manager's own clock.
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

// signing reports whether any webhook signs with the secret, as far as what Gemini lists shows.
// What has expired it may list and does not sign with.
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

// disableSuperseded disables the versions that were superseded, and returns their names. What goes
// wrong is said and no failure: one that stays enabled can be disabled at any time.
func (a *webhookAdmin) disableSuperseded(ctx context.Context) (disabled []string) {
	hooks, err := a.gemini.List(ctx)
	if err != nil {
		a.warn("older versions stay enabled, because it is not known which Gemini still signs with: %v", err)
		return nil
	}
	enabled, err := a.secrets.Enabled(ctx, a.name)
	if err != nil {
		a.warn("older versions stay enabled: %v", err)
		return nil
	}
	for _, version := range superseded(enabled, hooks, a.now()) {
		if err := a.secrets.Disable(ctx, version.Name); err != nil {
			a.warn("%v", err)
			continue
		}
		disabled = append(disabled, version.Name)
	}
	return disabled
}

// disableRevoked disables every version that is older than a webhook's new secret, and returns
// their names. It keeps only what another webhook signs with: that Gemini still lists a secret for
// this one does not make it less stolen. An error says that a revoked secret may still be believed,
// and how to end that by hand.
func (a *webhookAdmin) disableRevoked(ctx context.Context, id, version, text string) (disabled []string, err error) {
	enabled, err := a.secrets.Enabled(ctx, a.name)
	if err != nil {
		return nil,
			fmt.Errorf("webhook %s has a new secret, but the old ones may still be believed, because they could not be "+
				"read: %w; disable now every older version than %s that no other webhook signs with: "+
				"gcloud secrets versions list %s --project=%s shows them, and %s disables one",
				id, err, version, a.name.ID, a.name.Project, a.disableCommand("NUMBER"))
	}
	// A version that was stored a moment ago may be missing from the list; then all of them are
	// older.
	old := enabled[1+slices.IndexFunc(enabled, func(v secret.Version) bool { return string(v.Data) == text }):]
	if len(old) == 0 {
		return nil, nil
	}
	hooks, err := a.gemini.List(ctx)
	if err != nil {
		return nil, a.stillBelieved(id, old,
			fmt.Errorf("what another webhook signs with stays, and which that is could not be read: %w", err))
	}
	hooks = slices.DeleteFunc(hooks, func(hook webhooks.Webhook) bool { return hook.ID == id })
	var left []secret.Version
	var why []error
	for _, one := range old {
		if signing(hooks, string(one.Data), a.now()) {
			continue
		}
		if err := a.secrets.Disable(ctx, one.Name); err != nil {
			left, why = append(left, one), append(why, err)
			continue
		}
		disabled = append(disabled, one.Name)
	}
	if len(left) > 0 {
		return disabled, a.stillBelieved(id, left, errors.Join(why...))
	}
	return disabled, nil
}

// stillBelieved is the error of a revocation that left versions enabled.
func (a *webhookAdmin) stillBelieved(id string, left []secret.Version, why error) error {
	texts := make([]string, len(left))
	for i, version := range left {
		_, number, _ := strings.Cut(version.Name, "/versions/")
		texts[i] = fmt.Sprintf("%s with %s", version.Name, a.disableCommand(number))
	}
	return fmt.Errorf("webhook %s has a new secret, but old ones are still enabled and believed: %w; disable them now: %s",
		id, why, strings.Join(texts, ", "))
}

func (a *webhookAdmin) disableCommand(number string) string {
	return fmt.Sprintf("gcloud secrets versions disable %s --secret=%s --project=%s", number, a.name.ID, a.name.Project)
}
