package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// Count returns how many requests a batch has, and so how many items its results should have; 0 if
// Gemini does not say, or no longer has the batch. Inline results are part of the answer, which Count
// stops reading at the count. Errors: as Open.
func (c *Client) Count(ctx context.Context, key operation.Key) (int64, error) {
	if key.Collection() == operation.Jobs {
		return 0, nil // its record has the number
	}
	if key.Collection() != operation.Batches {
		return 0, fmt.Errorf("%w: %s is not a batch", ErrNone, diag.QuoteUpTo(string(key), maxQuoted))
	}
	body, err := c.get(ctx, batchResource(key), nil)
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusGone:
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer body.Close() //nolint:errcheck // what is behind the count is not wanted
	var count string
	requests := func(answer *api.JSON) error { return cmp.Or(answer.Text(&count), errFound) }
	batch := api.Object(api.Members{"metadata": api.Object(api.Members{"batchStats": api.Object(api.Members{
		"requestCount": requests,
	})})})
	err = batch(api.NewJSON(body))
	if err != nil && !errors.Is(err, errFound) {
		return 0, fmt.Errorf("reading %s: %w", key, err)
	}
	if count == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("reading %s: the number of its requests is %s", key, diag.QuoteUpTo(count, maxQuoted))
	}
	return n, nil
}
