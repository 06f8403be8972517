package cloud

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/shared/secret"
)

// Reconcile are the settings of reconciliation.
type Reconcile struct {
	Gemini    config.Gemini
	Discovery config.Discovery
	Endpoint  config.Endpoint
	// Signing is the webhook's signing secret, which is stored when the webhook is created.
	Signing config.SigningSecrets
}

// Reconciler returns the options of the reconciler without its ledger, which the caller opens last:
// it stays open, and a build that fails before it is repeated.
func Reconciler(ctx context.Context, settings Reconcile, log *slog.Logger) (reconcile.Options, error) {
	key, err := GeminiKey(ctx, settings.Gemini)
	if err != nil {
		return reconcile.Options{}, err
	}
	o := reconcile.Options{Adopt: settings.Discovery.Adopt, Dynamic: settings.Endpoint.Dynamic(), Log: log}
	o.Gemini, err = lookup.NewClient(lookup.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
	if err != nil {
		return o, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	if settings.Endpoint.Static() {
		client, err := webhooks.NewClient(webhooks.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
		if err != nil {
			return o, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
		}
		// It connects with the first call, and stays open: each pass reads the secrets again over it.
		manager := secret.New(secret.Options{Emulator: settings.Gemini.SecretEmulator})
		o.Endpoint = &reconcile.Endpoint{
			Webhooks: client, URL: settings.Endpoint.URL, Reenable: settings.Endpoint.Reenable,
			ToCreate: "run opledger webhook create", ToCheck: "see opledger webhook check",
			Created: func(ctx context.Context) (bool, error) {
				return stored(ctx, manager, settings.Signing)
			},
		}
		if !settings.Signing.Secrets.IsZero() { // else this process may be one without a webhook
			o.Endpoint.Secrets = func(ctx context.Context) ([]string, error) {
				return signingSecrets(ctx, manager, settings.Signing)
			}
		}
	}
	return o, nil
}

// signingSecrets returns the secrets that the webhook verifies with, to compare them with what Gemini lists.
func signingSecrets(ctx context.Context, manager *secret.Client, signing config.SigningSecrets) ([]string, error) {
	read, err := enabled(ctx, manager, signing)
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_WEBHOOK_SECRET: %w", err)
	}
	var all []string
	for _, one := range read {
		all = append(all, strings.TrimSpace(one.Value))
	}
	return all, nil
}

// stored reports whether there is a signing secret, in the settings or in Secret Manager. It reads
// no version.
func stored(ctx context.Context, manager *secret.Client, signing config.SigningSecrets) (bool, error) {
	if len(signing.Secrets.Values) > 0 || len(signing.Secrets.Names) == 0 {
		return len(signing.Secrets.Values) > 0, nil
	}
	for _, name := range signing.Secrets.Names {
		found, err := manager.Stored(ctx, name)
		if err != nil {
			return false, fmt.Errorf("OPLEDGER_WEBHOOK_SECRET: %w", err)
		}
		if found {
			return true, nil
		}
	}
	return false, nil
}
