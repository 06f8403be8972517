package cloud

import (
	"context"
	"fmt"
	"maps"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/gemini/batches"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/gemini/results"
	"github.com/opledger/opledger/shared/job/steps"
	"github.com/opledger/opledger/shared/storage"
)

// JobStorage returns the storage at a location; nil for an empty one. It makes no connection.
func JobStorage(location string, settings config.Handlers) (storage.Storage, error) {
	if location == "" {
		return nil, nil //nolint:nilnil // a process without job storage leaves jobs to others
	}
	s, err := storage.Open(location, settings.StorageEmulator)
	if err != nil {
		return nil, fmt.Errorf("OPLEDGER_JOB_STORAGE: %w", err)
	}
	return s, nil
}

// AddSteps adds the handlers of the steps of jobs to those of the effects. Where there is no API key the steps
// that ask Gemini wait, unless o has their clients. Without job storage the key is not read: a deployed
// function that has no jobs may not read its secret.
func AddSteps(
	ctx context.Context, handlers map[string]effect.Handler, settings config.Gemini, o steps.Options,
) error {
	if o.Storage != nil && settings.IsSet() {
		key, err := GeminiKey(ctx, settings)
		if err != nil {
			return err
		}
		if err := addClients(&o, api.Options{APIKey: key, BaseURL: settings.BaseURL}); err != nil {
			return fmt.Errorf("GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL: %w", err)
		}
	}
	maps.Copy(handlers, steps.Handlers(o))
	return nil
}

// addClients makes the clients that o lacks.
func addClients(o *steps.Options, with api.Options) (err error) {
	if o.Results == nil {
		if o.Results, err = results.New(with); err != nil {
			return err
		}
	}
	if o.Batches, err = batches.NewClient(with); err != nil {
		return err
	}
	o.Canceller, err = cancel.NewClient(with)
	return err
}
