package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/operation"
)

// A line is one item of a result, in the form of a line of Gemini's own result files.
type line struct {
	Key      string          `json:"key,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    json.RawMessage `json:"error,omitempty"`
}

// CopyLines writes the items of a batch's result as JSON Lines, in the order in which Gemini sends them, and returns
// what they are. After an error what was written is not whole. Errors: as Open and Next; those of w.
func (c *Client) CopyLines(ctx context.Context, w io.Writer, rec operation.Record) (Tally, error) {
	items, err := c.Open(ctx, rec.Key, rec.Result)
	if err != nil {
		return Tally{}, fmt.Errorf("opening the results of %s: %w", rec.Key, err)
	}
	defer items.Close() //nolint:errcheck // they were read to their end, or cannot be
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false) // as Gemini sent it
	for {
		item, err := items.Next()
		if errors.Is(err, io.EOF) {
			return items.Tally(), nil
		}
		if err != nil {
			return items.Tally(), fmt.Errorf("reading the results of %s: %w", rec.Key, err)
		}
		if err := lines.Encode(line{item.Key, item.Response, item.Error}); err != nil {
			return items.Tally(), fmt.Errorf("writing the results of %s: %w", rec.Key, err)
		}
	}
}
