package batches

import (
	"context"
	"fmt"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// Get asks for a batch. The answer is streamed past inline results. Errors: one that wraps
// [operation.ErrName], for a key that is no batch's, before anything is sent; an *[api.Error], of which a
// 404 alone does not say that the batch has ended; [api.ErrTooLarge] for one value of more than 32 MiB; of
// the connection, which wrap [api.ErrInterrupted]; or about the answer, such as one about another batch.
func (c *Client) Get(ctx context.Context, key operation.Key) (api.Batch, error) {
	name := operation.Name{Key: key}
	path, err := name.Path()
	if err == nil && key.Collection() != operation.Batches {
		err = fmt.Errorf("%w: %s is no batch", operation.ErrName, diag.QuoteUpTo(string(key), maxQuoted))
	}
	if err != nil {
		return api.Batch{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	body, err := c.api.Get(ctx, path, nil)
	if err != nil {
		return api.Batch{}, err
	}
	defer body.Close() //nolint:errcheck // it was read, or cannot be
	batch, err := api.ReadBatch(body)
	if err != nil {
		return api.Batch{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if err := api.CheckAbout(name, batch.Name); err != nil {
		return api.Batch{}, fmt.Errorf("reading %s: %s", path, c.api.Redact(err.Error(), maxProblem))
	}
	return batch, nil
}
