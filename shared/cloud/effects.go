package cloud

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
)

// Handlers returns the handler of each effect, by name: effect.Handlers, with what the settings say of all of them put into o.
// Errors: those of EffectSigner, and those of effect.Handlers.
func Handlers(ctx context.Context, specs []effect.Spec, settings config.Handlers, o effect.HandlerOptions) (map[string]effect.Handler, error) {
	signer, err := EffectSigner(ctx, settings)
	if err != nil {
		return nil, err
	}
	o.Signer, o.AllowPrivate, o.Buckets = signer, settings.AllowPrivate, effect.NewBuckets(settings.StorageEmulator)
	handlers, err := effect.Handlers(specs, o)
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_EFFECTS: %w", err)
	}
	return handlers, nil
}

// EffectSigner returns what signs the http effects, nil where nothing is signed: made of the secrets in the settings, or of the
// newest enabled version of their secret, as it is now. A version may hold several secrets, separated by white space, and each
// signs. A process that is to use a newer version is started again. The errors of the secret are those of
// secret.Client.Newest and effect.NewSigner; none holds a secret.
func EffectSigner(ctx context.Context, settings config.Handlers) (*effect.Signer, error) {
	if settings.Secret == "" {
		return nil, nil
	}
	text := settings.Secret
	if name, ok := settings.SecretName(); ok {
		var err error
		if text, err = newest(ctx, "OPLEDGER_EFFECT_SECRET", name, settings.SecretEmulator); err != nil {
			return nil, err
		}
	}
	signer, err := effect.NewSigner(strings.Fields(text)...)
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_EFFECT_SECRET: %w", err)
	}
	return signer, nil
}
