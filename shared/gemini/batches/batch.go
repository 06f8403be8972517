package batches

import (
	"context"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// A Batch is what Gemini says of one.
type Batch struct {
	// State is operation.Unknown where Gemini says none, or a word that this revision does not know.
	State operation.State
	// InputFile and OutputFile are files/…; empty where there is none, as of inline requests.
	InputFile, OutputFile string
	// CorrelationID is the submitter's own id, from the display name; empty where that has none [K6].
	CorrelationID string
	// Requests is how many it was made of; 0 where Gemini does not say.
	Requests int64
	// UpdateTime is the server's time of State, cut to microseconds; zero where it says none [M4].
	UpdateTime time.Time
}

// Get asks for a batch. The answer is streamed past inline results. Errors: one that wraps
// [operation.ErrName], for a key that is no batch's, before anything is sent; an *[api.Error], of which a
// 404 alone does not say that the batch has ended; [api.ErrTooLarge] for one value of more than 32 MiB; of
// the connection, which wrap [api.ErrInterrupted]; or about the answer, such as one about another batch.
func (c *Client) Get(ctx context.Context, key operation.Key) (Batch, error) {
	name := operation.Name{Key: key}
	path, err := name.Path()
	if err == nil && key.Collection() != operation.Batches {
		err = fmt.Errorf("%w: %s is no batch", operation.ErrName, diag.QuoteUpTo(string(key), maxQuoted))
	}
	if err != nil {
		return Batch{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	body, err := c.api.Get(ctx, path, nil)
	if err != nil {
		return Batch{}, err
	}
	defer body.Close() //nolint:errcheck // it was read, or cannot be
	read, err := api.ReadBatch(body)
	if err != nil {
		return Batch{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if err := api.CheckAbout(name, read.Name); err != nil {
		return Batch{}, fmt.Errorf("reading %s: %s", path, c.api.Redact(err.Error(), maxProblem))
	}
	batch := Batch{
		State: read.Known(), InputFile: read.InputFile, OutputFile: read.Result.OutputFile,
		CorrelationID: gemini.CorrelationIn(read.DisplayName), UpdateTime: operation.Instant(read.Since()),
	}
	if counts := read.Result.Counts; counts != nil {
		batch.Requests = counts.Total
	}
	return batch, nil
}
