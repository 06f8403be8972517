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
	// MaxPageSize is how many batches a page may have.
	MaxPageSize = 1000
	// maxDisplayName and maxPageToken bound, in bytes, what a page holds of texts that others
	// chose.
	maxDisplayName = 512
	maxPageToken   = 4 << 10
)

// A Page is one page of the batches that Gemini has.
type Page struct {
	// Batches are in Gemini's order, which it does not document; the newest was seen to come first.
	Batches []Batch
	// NextPageToken asks for the next page; empty after the last one.
	NextPageToken string
}

// A Batch is one entry of a listing. Its Answer is what Lookup would say, and is known or not; an
// entry that cannot be read takes nothing from the others [R6].
type Batch struct {
	// Name is zero for an entry that has no batch's name; its Answer is then not known, with the
	// reason BadAnswer.
	Name operation.Name
	Answer
	// DisplayName is the name that the submitter gave, cut to 512 bytes.
	DisplayName string
}

// ListBatches asks for one page of the batches of the API key's project, which is how an
// unregistered batch is found [G6], and how one stands that Gemini cannot answer for alone.
// pageSize is at most MaxPageSize; zero or less leaves it to Gemini, which may always give fewer.
// pageToken is empty for the first page.
//
// The page is read as it comes: inline results, which come with every batch that has them, are not
// held. The error is a *LookupError, beside what was read of the page before it; asking again may
// help for the same reasons as for a look-up.
func (c *Client) ListBatches(ctx context.Context, pageSize int, pageToken string) (Page, error) {
	query := url.Values{}
	if pageSize > 0 {
		query.Set("pageSize", strconv.Itoa(min(pageSize, MaxPageSize)))
	}
	if pageToken != "" {
		query.Set("pageToken", pageToken)
	}
	var (
		page  Page
		whole resource
	)
	failure := c.get(ctx, string(operation.Batches), query, func(body io.Reader) (err error) {
		whole, err = readPage(body, &page.NextPageToken, func(batch resource) error {
			if len(page.Batches) == MaxPageSize {
				return fmt.Errorf("%w: the page has more than %d batches", api.ErrTooLarge, MaxPageSize)
			}
			page.Batches = append(page.Batches, c.entry(batch))
			return nil
		})
		if err == nil && len(page.NextPageToken) > maxPageToken {
			err = fmt.Errorf("the token of the next page has %d bytes, more than %d", len(page.NextPageToken), maxPageToken)
		}
		return err
	})
	if failure == nil && whole.failed {
		failure = c.problem(string(operation.Batches), NoState, "the answer is no page%s", whole.complaint())
	}
	if failure != nil {
		page.NextPageToken = "" // not to be followed past what was not read
		return page, failure
	}
	return page, nil
}

// entry makes an entry of a batch as it stands in a page.
func (c *Client) entry(batch resource) Batch {
	name, err := operation.ParseName(batch.name, "")
	if err == nil && name.Key.Collection() != operation.Batches {
		err = fmt.Errorf("%s is no batch's name", diag.QuoteUpTo(batch.name, maxQuoted))
	}
	entry := Batch{DisplayName: diag.Cut(batch.displayName, maxDisplayName)}
	if err != nil {
		entry.Answer = batch.describe(unknown(c.problem(string(operation.Batches), BadAnswer, "an entry of the page: %s", err)))
		return entry
	}
	entry.Name, entry.Answer = name, c.batchAnswer(name.Resource, batch)
	return entry
}
