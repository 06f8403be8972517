package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/secret"
)

// storeTries is how often a signing secret is stored before that is given up; between two tries twice as much time passes as
// before.
const storeTries = 4

const firstStoreWait = 500 * time.Millisecond

// store keeps a signing secret as a new version and returns the version's name. Gemini tells a secret once, so the end of ctx
// does not end the storing.
func (d *webhookDesk) store(ctx context.Context, text string) (version string, err error) {
	ctx = context.WithoutCancel(ctx)
	wait := firstStoreWait
	for try := range storeTries {
		if try > 0 {
			if err := d.wait(ctx, wait); err != nil {
				return "", err
			}
			wait *= 2
		}
		if version, err = d.secrets.Add(ctx, d.name, []byte(text)); err == nil {
			return version, nil
		}
		if errors.Is(err, secret.ErrDenied) || errors.Is(err, secret.ErrNotFound) {
			break // it was allowed a moment ago, and will not be so in the next
		}
	}
	return "", err
}

func (d *webhookDesk) wait(ctx context.Context, how time.Duration) error {
	if d.outside.wait != nil {
		return d.outside.wait(ctx, how)
	}
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkSecret returns an error for what the webhook function could not verify with; stored, it would keep the function from
// starting. The error does not hold it.
func checkSecret(text string) error {
	if text == "" {
		return errors.New("no signing secret came from Gemini")
	}
	if _, err := gemini.NewVerifier(time.Minute, text); err != nil {
		return fmt.Errorf("the signing secret from Gemini cannot be used: %w", err)
	}
	return nil
}

// supersededFor is how long a secret stays enabled after the next one was stored: Gemini signs with it for 24 hours, and a
// delivery takes a while.
const supersededFor = 25 * time.Hour

// superseded returns those of the enabled versions, newest first, that nobody signs with any more: Gemini lists them for no
// webhook, and another has stood in their place for supersededFor, or for any time where the old ones were revoked. Ages are
// by Secret Manager's own clock.
func superseded(enabled []secret.Version, hooks []webhooks.Webhook, revoked bool) []secret.Version {
	var old []secret.Version
	for i := 1; i < len(enabled); i++ {
		since := enabled[0].CreateTime.Sub(enabled[i-1].CreateTime)
		if (since > supersededFor || revoked) && !signing(hooks, string(enabled[i].Data)) {
			old = append(old, enabled[i])
		}
	}
	return old
}

// signing reports whether Gemini lists the secret for any webhook, as far as that can be seen.
func signing(hooks []webhooks.Webhook, text string) bool {
	for _, hook := range hooks {
		for _, listed := range hook.Secrets {
			if listed.Of(trimmed(text)) {
				return true
			}
		}
	}
	return false
}

// disableOld disables the versions that were superseded, and returns their names. What goes wrong is said and no failure: one
// that stays enabled can be disabled at any time.
func (d *webhookDesk) disableOld(ctx context.Context, revoked bool) (disabled []string) {
	hooks, err := d.gemini.List(ctx)
	if err != nil {
		d.note("older versions stay enabled, because it is not known which Gemini still signs with: %v", err)
		return nil
	}
	enabled, err := d.secrets.Enabled(ctx, d.name)
	if err != nil {
		d.note("older versions stay enabled: %v", err)
		return nil
	}
	for _, version := range superseded(enabled, hooks, revoked) {
		if err := d.secrets.Disable(ctx, version.Name); err != nil {
			d.note("%v", err)
			continue
		}
		disabled = append(disabled, version.Name)
	}
	return disabled
}
