package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/secret"
)

// GeminiKey returns the Gemini API key: the one in the settings, or else the newest enabled version of its secret, as it is
// now. A process that is to use a newer one is started again. The errors of the secret are those of secret.Client.Newest; none
// holds the key.
func GeminiKey(ctx context.Context, settings config.Gemini) (string, error) {
	if settings.APIKeySecret == "" {
		return strings.TrimSpace(settings.APIKey), nil
	}
	name, err := secret.ParseName(settings.APIKeySecret)
	if err != nil {
		return "", fmt.Errorf("OPLEDGER_GEMINI_API_KEY_SECRET: %w", err)
	}
	secrets := secret.New(secret.Options{Emulator: settings.SecretEmulator})
	data, err := secrets.Newest(ctx, name)
	if err := errors.Join(err, secrets.Close()); err != nil {
		return "", fmt.Errorf("OPLEDGER_GEMINI_API_KEY_SECRET: %w", err)
	}
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", fmt.Errorf("OPLEDGER_GEMINI_API_KEY_SECRET: the newest enabled version of %s is empty; add one with the key", name)
	}
	return key, nil
}
