package lookup

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/genai"

	"github.com/opledger/opledger/shared/excerpt"
	"github.com/opledger/opledger/shared/operation"
)

// Bounds on what Gemini's words about an error bring into a record, as for an event's. In bytes.
const (
	maxErrorMessage = 4 << 10
	maxErrorCode    = 128
)

// readBatch asks for the batch without the SDK, and reads the answer of whatever size without keeping its results: the SDK
// decodes them along with the state, and what it cannot decode or hold would hide the state for ever. The error says why
// the answer does not tell a known state; it may repeat what the server said.
func (c *Client) readBatch(ctx context.Context, name operation.Name) (Answer, error) {
	options := c.genai.ClientConfig().HTTPOptions // where the SDK asks, the environment's word included
	address, err := url.JoinPath(options.BaseURL, options.APIVersion, string(name.Key))
	if err != nil {
		return Answer{}, fmt.Errorf("making the address: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return Answer{}, fmt.Errorf("making the request: %w", err)
	}
	req.Header.Set("X-Goog-Api-Key", c.key)
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err //nolint:wrapcheck // url.Error says all
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return Answer{}, fmt.Errorf("HTTP status %d", resp.StatusCode) // also a redirect, which is not followed
	}
	batch, err := readResource(resp.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("reading the answer: %w", err)
	}
	if said, err := operation.ParseName(batch.name, operation.Batches); batch.name != "" && (err != nil || said.Key != name.Key) {
		return Answer{}, fmt.Errorf("the answer is about %s", excerpt.Quote(batch.name, maxQuoted))
	}
	state := batchState(genai.JobState(batch.state))
	if !state.Known() {
		return Answer{}, fmt.Errorf("state %s is not known", excerpt.Quote(batch.state, maxQuoted))
	}
	result := batch.result
	result.ErrorCode = excerpt.Cut(withoutKey(result.ErrorCode, c.key), maxErrorCode)
	result.ErrorMessage = excerpt.Cut(withoutKey(result.ErrorMessage, c.key), maxErrorMessage)
	return known(state, stateTime(instant(batch.updateTime), instant(batch.endTime)), result), nil
}

// instant is zero for a text that is no time: a state is not lost over that.
func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
