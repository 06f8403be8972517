package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/secret"
)

// GeminiKey returns the Gemini API key: the one in the settings, or else the last version of its
// secret. Restart the process to use a newer one. Its errors are those of secret.Client.Latest, and
// do not hold the key.
func GeminiKey(ctx context.Context, settings config.Gemini) (string, error) {
	if settings.APIKeySecret == "" {
		return strings.TrimSpace(settings.APIKey), nil
	}
	const variable = "OPLEDGER_GEMINI_API_KEY_SECRET"
	name, err := secret.ParseName(settings.APIKeySecret)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	return latest(ctx, variable, name, settings.SecretEmulator)
}

// latest returns the last version of a secret, without white space around it. The error begins with
// the variable that names the secret.
func latest(ctx context.Context, variable string, name secret.Name, emulator string) (string, error) {
	secrets := secret.New(secret.Options{Emulator: emulator})
	data, err := secrets.Latest(ctx, name)
	if err := errors.Join(err, secrets.Close()); err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("%s: the last version of %s is empty; add one that holds it", variable, name)
	}
	return text, nil
}
