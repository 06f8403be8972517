package cloud

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
)

// Reconcile are the settings of reconciliation.
type Reconcile struct {
	Gemini    config.Gemini
	Discovery config.Discovery
	Endpoint  config.Endpoint
}

// Reconciler puts together what makes passes over a ledger, and asks Gemini.
func Reconciler(ctx context.Context, l *ledger.Ledger, settings Reconcile, log *slog.Logger) (*reconcile.Reconciler, error) {
	key, err := GeminiKey(ctx, settings.Gemini)
	if err != nil {
		return nil, err
	}
	o := reconcile.Options{Ledger: l, Adopt: settings.Discovery.Adopt, Log: log}
	o.Gemini, err = lookup.NewClient(ctx, lookup.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
	if err != nil {
		return nil, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	if settings.Endpoint.URL != "" {
		client, err := webhooks.NewClient(ctx, webhooks.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
		if err != nil {
			return nil, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
		}
		o.Endpoint = &reconcile.Endpoint{Webhooks: client, URL: settings.Endpoint.URL, Reenable: settings.Endpoint.Reenable}
	}
	return reconcile.New(o), nil
}
