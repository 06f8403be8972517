package cloud

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/reconcile"
)

// Reconcile are the settings of reconciliation.
type Reconcile struct {
	Gemini    config.Gemini
	Discovery config.Discovery
	Endpoint  config.Endpoint
}

// Reconciler puts together what makes passes, all but the ledger: that is opened last, since what it opens stays open, and an API
// key that cannot be read must not leave it behind at every try.
func Reconciler(ctx context.Context, settings Reconcile, log *slog.Logger) (reconcile.Options, error) {
	key, err := GeminiKey(ctx, settings.Gemini)
	if err != nil {
		return reconcile.Options{}, err
	}
	o := reconcile.Options{Adopt: settings.Discovery.Adopt, Log: log}
	o.Gemini, err = lookup.NewClient(ctx, lookup.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
	if err != nil {
		return o, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	if settings.Endpoint.URL != "" {
		client, err := webhooks.NewClient(ctx, webhooks.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
		if err != nil {
			return o, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
		}
		o.Endpoint = &reconcile.Endpoint{Webhooks: client, URL: settings.Endpoint.URL, Reenable: settings.Endpoint.Reenable}
	}
	return o, nil
}
