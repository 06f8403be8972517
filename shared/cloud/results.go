package cloud

import (
	"context"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/storage"
)

// Results returns the client that fetches the results of batches, and of jobs from their storage, which may
// be nil; nil if no effect needs results. Its errors are those of Client.
func Results(ctx context.Context, settings config.Results, jobs storage.Storage) (*results.Client, error) {
	if !settings.Wanted {
		return nil, nil //nolint:nilnil // no effect needs it, which is no error
	}
	client, err := Client(ctx, settings.Gemini, results.New)
	if err != nil {
		return nil, err
	}
	return client.WithJobs(files.Opener(jobs)), nil
}
