package cloud

import (
	"context"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect/http"
)

// LateEffectSigner is EffectSigner for a process that also starts without the secret, see
// http.LateSigner. It returns nil if nothing is signed.
func LateEffectSigner(settings config.Handlers) *http.Signer {
	if settings.Secret.IsZero() {
		return nil
	}
	return http.LateSigner(func(ctx context.Context) (*http.Signer, error) { return EffectSigner(ctx, settings) })
}

// EffectSigner returns the signer of http effects, nil if nothing is signed. It signs with each of
// the secrets in the settings or, if those name one, with each secret in its last version, which may
// hold several, separated by white space. Restart the process to use a newer version. Its errors are
// those of secret.Client.Latest and http.NewSigner, and hold no secret.
func EffectSigner(ctx context.Context, settings config.Handlers) (*http.Signer, error) {
	if settings.Secret.IsZero() {
		return nil, nil
	}
	secrets := settings.Secret.Values
	if len(secrets) == 0 {
		text, err := latest(ctx, settings.Secret.Name, settings.SecretEmulator)
		if err != nil {
			return nil, fmt.Errorf("OPLEDGER_EFFECT_SECRET: %w", err)
		}
		secrets = strings.Fields(text)
	}
	signer, err := http.NewSigner(secrets...)
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_EFFECT_SECRET: %w", err)
	}
	return signer, nil
}
