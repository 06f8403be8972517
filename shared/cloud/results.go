package cloud

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/results"
)

// Results returns what fetches the results of batches; nil where no effect needs them. Errors: those of GeminiKey, and
// those of results.New.
func Results(ctx context.Context, settings config.Results) (*results.Client, error) {
	if !settings.Wanted {
		return nil, nil //nolint:nilnil // nobody needs it, and that is no error
	}
	key, err := GeminiKey(ctx, settings.Gemini)
	if err != nil {
		return nil, err
	}
	client, err := results.New(results.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
	if err != nil {
		return nil, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	return client, nil
}
