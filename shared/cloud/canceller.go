package cloud

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/cancel"
)

// Canceller returns a client that asks Gemini to cancel operations.
func Canceller(ctx context.Context, settings config.Gemini) (*cancel.Client, error) {
	key, err := GeminiKey(ctx, settings)
	if err != nil {
		return nil, err
	}
	client, err := cancel.NewClient(cancel.Options{APIKey: key, BaseURL: settings.BaseURL})
	if err != nil {
		return nil, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	return client, nil
}
