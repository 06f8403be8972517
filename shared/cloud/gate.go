package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/secret"
	"github.com/opledger/opledger/shared/trust"
)

// Gate returns what verifies deliveries: with the secrets in the settings, every enabled version of
// those in Secret Manager, and the keys of dynamic webhooks.
//
// It reads the secrets, so that a mistake shows at the start. The error wraps gemini.ErrSecret and
// names each malformed version. That there is no version yet, or that none can be read now, is only
// logged: deliveries are answered 503 until that changes.
func Gate(ctx context.Context, settings config.Webhook, now time.Time, log *slog.Logger) (*trust.Gate, error) {
	options := trust.Options{Tolerance: settings.Tolerance}
	var err error
	if options.Static, err = secrets(settings, log); err != nil {
		return nil, fmt.Errorf("OPLEDGER_WEBHOOK_SECRET: %w", err)
	}
	if options.Static != nil {
		err := options.Static.Load(ctx, now)
		if errors.Is(err, gemini.ErrSecret) {
			return nil, fmt.Errorf("OPLEDGER_WEBHOOK_SECRET: %w; disable the malformed version, "+
				"and add a good one if there is none", err)
		}
		if err != nil {
			log.WarnContext(ctx, "static deliveries cannot be verified yet, and are answered 503", "event", "auth",
				"outcome", "unverifiable", "error", err)
		}
	}
	if len(settings.Audiences) > 0 {
		options.Dynamic, err = trust.NewTokens(trust.TokensOptions{
			Audiences: settings.Audiences, Issuers: settings.Issuers, KeysURL: settings.KeysURL, Log: log,
		})
		if err != nil {
			return nil, fmt.Errorf("OPLEDGER_WEBHOOK_AUDIENCE, OPLEDGER_JWKS_URL: %w", err)
		}
	}
	return trust.New(options)
}

// secrets returns the signing secrets; nil if the settings name none.
func secrets(settings config.Webhook, log *slog.Logger) (*trust.Secrets, error) {
	switch {
	case len(settings.Secrets.Names) > 0:
		manager := secret.New(secret.Options{Emulator: settings.Gemini.SecretEmulator})
		return trust.NewSecrets(func(ctx context.Context) ([]trust.Secret, error) {
			return enabled(ctx, manager, settings.SigningSecrets)
		}, trust.SecretsOptions{Log: log}), nil
	case len(settings.Secrets.Values) > 0:
		return trust.FixedSecrets(settings.Secrets.Values...)
	default:
		return nil, nil //nolint:nilnil // no secret yet is no error
	}
}

// enabled returns every enabled version of the named secrets, and the secrets in the settings
// themselves.
func enabled(ctx context.Context, manager *secret.Client, settings config.SigningSecrets) ([]trust.Secret, error) {
	var all []trust.Secret
	for i, value := range settings.Secrets.Values {
		all = append(all, trust.Secret{Name: fmt.Sprintf("%d in OPLEDGER_WEBHOOK_SECRET", i+1), Value: value})
	}
	for _, name := range settings.Secrets.Names {
		versions, err := manager.Enabled(ctx, name)
		if err != nil && !errors.Is(err, secret.ErrNone) {
			return nil, err
		}
		for _, version := range versions {
			all = append(all, trust.Secret{Name: version.Name, Value: string(version.Data)})
		}
	}
	return all, nil
}
