package lookup

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// MaxPageSize is the largest number of batches in a page.
	MaxPageSize = 1000
	// batches is the collection that is listed.
	batches = string(operation.Batches)
	// maxDisplayName and maxPageToken bound, in bytes, what a page keeps of texts from outside.
	maxDisplayName = 512
	maxPageToken   = 4 << 10
)

// A Page is one page of the batches at Gemini.
type Page struct {
	// Batches are in Gemini's order, which it does not document; the newest was seen to come first.
	Batches []Batch
	// NextPageToken is the token of the next page, empty after the last one.
	NextPageToken string
}

// A Batch is one entry of a listing. Its Answer is what Lookup would return. An entry that cannot
// be read does not affect the others [R6].
type Batch struct {
	// Name is zero for an entry without the name of a batch. Its Answer is then inconclusive, with
	// the reason BadAnswer.
	Name operation.Name
	Answer
	// DisplayName is the name that the submitter gave, cut to 512 bytes.
	DisplayName string
	// Model is the model's name, as models/…; empty where the entry does not say.
	Model string
}

// ListBatches returns one page of the batches of the API key's project. It finds unregistered
// batches [G6], and the state of a batch for which Gemini's look-up fails. pageSize is at most
// MaxPageSize; for 0 or less Gemini chooses. A page may have fewer batches. pageToken is empty for
// the first page.
//
// The page is streamed: its batches come with their inline results, which are not kept. The error
// is a *LookupError, beside the part of the page that was read before it. A retry may help as it
// does for a look-up.
func (c *Client) ListBatches(ctx context.Context, pageSize int, pageToken string) (Page, error) {
	query := url.Values{}
	if pageSize > 0 {
		query.Set("pageSize", strconv.Itoa(min(pageSize, MaxPageSize)))
	}
	if pageToken != "" {
		query.Set("pageToken", pageToken)
	}
	var (
		page    Page
		instead api.Failure
	)
	failure := c.get(ctx, batches, batches, query, func(body io.Reader) (err error) {
		instead, err = api.ReadBatches(body, &page.NextPageToken, func(read api.Batch) error {
			if len(page.Batches) == MaxPageSize {
				return fmt.Errorf("%w: the page has more than %d batches", api.ErrTooLarge, MaxPageSize)
			}
			page.Batches = append(page.Batches, c.entry(batch{read}))
			return nil
		})
		if err == nil && len(page.NextPageToken) > maxPageToken {
			err = fmt.Errorf("the token of the next page has %d bytes, more than %d", len(page.NextPageToken), maxPageToken)
		}
		return err
	})
	if failure == nil && instead.There {
		failure = c.problem(batches, NoState, "the answer is not a page of batches%s", instead.Complaint())
	}
	if failure != nil {
		page.NextPageToken = "" // not to be followed past what was not read
		return page, failure
	}
	return page, nil
}

// entry returns the entry for a batch in a page.
func (c *Client) entry(b batch) Batch {
	name, err := operation.ParseName(b.Name, "")
	if err == nil && name.Key.Collection() != operation.Batches {
		err = fmt.Errorf("%s is not the name of a batch", diag.QuoteUpTo(b.Name, maxQuoted))
	}
	entry := Batch{
		DisplayName: diag.Cut(b.DisplayName, maxDisplayName), Model: diag.Cut(b.Model, maxDisplayName),
	}
	if err != nil {
		entry.Answer = b.describe(unknown(c.problem(batches, BadAnswer, "an entry of the page: %s", err)))
		return entry
	}
	entry.Name, entry.Answer = name, b.answer(c, name.Resource)
	return entry
}
