package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// ErrInput: the submission is invalid, which the SDK would find only after the intent was recorded;
// or the API key may not be sent to Gemini's address.
var ErrInput = errors.New("this cannot be submitted")

// Batch submits a batch of a file at Gemini, or of one request; Requests is for more. config may be
// nil. The correlation id is added to its display name, by
// which the batch is found in Gemini's list, and to its user metadata. Errors: ErrInput, before an
// intent is recorded; otherwise as Submit.
func (s *Submitter) Batch(
	ctx context.Context, said operation.Submission, model string, source *genai.BatchJobSource,
	config *genai.CreateBatchJobConfig,
) (Submitted, error) {
	if err := checkBatch(model, source); err != nil {
		return Submitted{}, err
	}
	config = cmp.Or(config, &genai.CreateBatchJobConfig{})
	if err := s.checkAddress(config.HTTPOptions); err != nil {
		return Submitted{}, err
	}
	return s.Submit(ctx, said, operation.Batches, func(ctx context.Context, mark Mark) (string, error) {
		marked := *config
		marked.HTTPOptions = once(marked.HTTPOptions)
		marked.DisplayName = gemini.DisplayName(marked.DisplayName, mark.CorrelationID)
		marked.WebhookConfig = mark.webhook(marked.WebhookConfig)
		created, err := s.options.Gemini.Batches.Create(ctx, model, source, &marked)
		if err != nil {
			return "", RequestError(err)
		}
		return created.Name, nil
	})
}

func checkBatch(model string, source *genai.BatchJobSource) error {
	switch {
	case model == "":
		return fmt.Errorf("%w: it has no model", ErrInput)
	case source == nil || (source.FileName == "") == (len(source.InlinedRequests) == 0):
		return fmt.Errorf("%w: a batch needs either a file or requests", ErrInput)
	case len(source.InlinedRequests) > 1:
		return fmt.Errorf("%w: the results of %d requests inside a batch come back without keys, and not always in "+
			"order; submit them as a file, with Requests", ErrInput, len(source.InlinedRequests))
	default:
		return nil
	}
}

// Video submits the generation of a video. config may be nil. The correlation id is added to its
// user metadata. A video cannot be listed: until it is registered only its event can show it, and a
// failed video has none. Errors: ErrInput, before an intent is recorded; otherwise as Submit.
func (s *Submitter) Video(
	ctx context.Context, said operation.Submission, model string, source *genai.GenerateVideosSource,
	config *genai.GenerateVideosConfig,
) (Submitted, error) {
	switch {
	case model == "":
		return Submitted{}, fmt.Errorf("%w: it has no model", ErrInput)
	case source == nil:
		return Submitted{}, fmt.Errorf("%w: a video needs a prompt, an image or a video", ErrInput)
	}
	config = cmp.Or(config, &genai.GenerateVideosConfig{})
	if err := s.checkAddress(config.HTTPOptions); err != nil {
		return Submitted{}, err
	}
	return s.Submit(ctx, said, operation.Operations, func(ctx context.Context, mark Mark) (string, error) {
		marked := *config
		marked.HTTPOptions = once(marked.HTTPOptions)
		marked.WebhookConfig = mark.webhook(marked.WebhookConfig)
		created, err := s.options.Gemini.Models.GenerateVideosFromSource(ctx, model, source, &marked)
		if err != nil {
			return "", RequestError(err)
		}
		return created.Name, nil
	})
}

// checkAddress refuses an address to which the API key would go in clear text. It checks the
// address of the request, else the client's, which the SDK may have from the environment.
func (s *Submitter) checkAddress(own *genai.HTTPOptions) error {
	address := s.options.Gemini.ClientConfig().HTTPOptions.BaseURL
	if own != nil && own.BaseURL != "" {
		address = own.BaseURL
	}
	if err := api.CheckBaseURL(address); err != nil {
		return fmt.Errorf("%w: the base URL of Gemini: %w", ErrInput, err)
	}
	return nil
}
