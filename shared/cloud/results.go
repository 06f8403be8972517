package cloud

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/storage"
)

// Results returns the client that fetches the results of batches, and of jobs from their storage, which may
// be nil; nil if no effect needs results. Its errors are those of GeminiKey and results.New.
func Results(ctx context.Context, settings config.Results, jobs storage.Storage) (*results.Client, error) {
	if !settings.Wanted {
		return nil, nil //nolint:nilnil // no effect needs it, which is no error
	}
	key, err := GeminiKey(ctx, settings.Gemini)
	if err != nil {
		return nil, err
	}
	client, err := results.New(results.Options{APIKey: key, BaseURL: settings.Gemini.BaseURL})
	if err != nil {
		return nil, fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
	}
	return client.WithJobs(files.Opener(jobs)), nil
}
