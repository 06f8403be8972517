package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/api"
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
	key, err := latest(ctx, name, settings.SecretEmulator)
	if err != nil {
		return "", fmt.Errorf("%s: %w", variable, err)
	}
	return key, nil
}

// Client makes a client of Gemini's API with the key of the settings, by a function such as
// lookup.NewClient. Its errors are those of GeminiKey and of that function.
func Client[C any](
	ctx context.Context, settings config.Gemini, make func(api.Options) (C, error),
) (client C, err error) {
	key, err := GeminiKey(ctx, settings)
	if err != nil {
		return client, err
	}
	if client, err = make(api.Options{APIKey: key, BaseURL: settings.BaseURL}); err != nil {
		return client, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	return client, nil
}

// latest returns the last version of a secret, without white space around it. Its errors are those of
// secret.Client.Latest.
func latest(ctx context.Context, name secret.Name, emulator string) (string, error) {
	secrets := secret.New(secret.Options{Emulator: emulator})
	data, err := secrets.Latest(ctx, name)
	if err := errors.Join(err, secrets.Close()); err != nil {
		return "", err
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("the newest version of %s is empty; add a version that holds the API key", name)
	}
	return text, nil
}
