package cloud

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
)

// LateEffectSigner is EffectSigner for a process that starts without the secret, too: see effect.LateSigner. It returns nil
// where nothing is signed.
func LateEffectSigner(settings config.Handlers) *effect.Signer {
	if settings.Secret.IsZero() {
		return nil
	}
	return effect.LateSigner(func(ctx context.Context) (*effect.Signer, error) { return EffectSigner(ctx, settings) })
}

// EffectSigner returns what signs the http effects, nil where nothing is signed: made of the secrets in the settings, or of the
// newest enabled version of their secret, as it is now. A version may hold several secrets, separated by white space, and each
// signs. A process that is to use a newer version is started again. The errors of the secret are those of
// secret.Client.Newest and effect.NewSigner; none holds a secret.
func EffectSigner(ctx context.Context, settings config.Handlers) (*effect.Signer, error) {
	if settings.Secret.IsZero() {
		return nil, nil
	}
	secrets := settings.Secret.Values
	if len(secrets) == 0 {
		text, err := newest(ctx, "OPLEDGER_EFFECT_SECRET", settings.Secret.Name, settings.SecretEmulator)
		if err != nil {
			return nil, err
		}
		secrets = strings.Fields(text)
	}
	signer, err := effect.NewSigner(secrets...)
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_EFFECT_SECRET: %w", err)
	}
	return signer, nil
}
