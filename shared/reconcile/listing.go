package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

const (
	// listedPerPage is how many batches one request lists.
	listedPerPage = 100
	// worthAPage is how many batches must be due for each page that is read to find them. So listing
	// takes at most a tenth more requests than a look-up of each, and usually far fewer.
	worthAPage = 10
	// maxPages bounds the pages that one pass reads: 20,000 batches [G6].
	maxPages = 200
	// findPages bounds the pages that are read for one batch whose look-up fails.
	findPages = 5
	// emptyBelieved is how often in a row Gemini must answer that there are no more batches, where a batch
	// that it does not list may be submitted again: one answer that says nothing proves nothing [G6].
	emptyBelieved = 3
)

var errLongList = fmt.Errorf("the list of batches has more than %d pages", maxPages)

// A listing is Gemini's list of batches, as one pass read it. The API documents neither an
// order nor a filter, so it is read page by page, no further than needed.
type listing struct {
	gemini *lookup.Client
	pace   *pacer
	// reading is held while one caller reads pages. The others wait no longer than their time.
	reading *semaphore.Weighted

	mu      sync.Mutex // held for no request
	batches map[operation.Key]lookup.Batch
	unnamed []lookup.Batch // entries whose name is not that of a batch
	next    string         // token of the next page
	pages   int            // pages requested
	ended   bool           // the last page was read
	empty   int            // how often in a row it had no batch
	err     error          // why no more pages are read
}

func newListing(client *lookup.Client, pace *pacer) *listing {
	return &listing{
		gemini: client, pace: pace, reading: semaphore.NewWeighted(1), batches: map[operation.Key]lookup.Batch{},
	}
}

// known returns the answer about an operation from the pages read so far.
func (l *listing) known(key operation.Key) (lookup.Answer, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	listed, found := l.batches[key]
	return listed.Answer, found && listed.Known()
}

// find reads more pages, up to findPages, until the list has the operation's state.
func (l *listing) find(ctx context.Context, key operation.Key) (lookup.Answer, bool) {
	_ = l.read(ctx, findPages, func() bool { // pages read before an error are kept
		listed, found := l.batches[key]
		return found && listed.Known()
	})
	return l.known(key)
}

// prepare reads as many more pages as pay off for these operations, which are about to be looked
// up.
func (l *listing) prepare(ctx context.Context, due []operation.Key) {
	missing := func() (n int) { // called with the lock held
		for _, key := range due {
			if _, found := l.batches[key]; !found {
				n++
			}
		}
		return n
	}
	l.mu.Lock()
	worth := missing() / worthAPage
	l.mu.Unlock()
	_ = l.read(ctx, worth, func() bool { return missing() == 0 }) // others are looked up one by one
}

// all reads the list to its end and returns what it has, also entries without the name of a batch.
// The error says why that may not be everything.
func (l *listing) all(ctx context.Context) ([]lookup.Batch, error) {
	toTheEnd := func() bool { return false }
	err := l.read(ctx, maxPages, toTheEnd)
	for err == nil && l.reopen() {
		err = l.read(ctx, 1, toTheEnd)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && !l.ended {
		err = errLongList
	}
	return slices.AppendSeq(slices.Clone(l.unnamed), maps.Values(l.batches)), err
}

// reopen has the last page read again, unless it had a batch or is believed.
func (l *listing) reopen() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	doubted := l.ended && 0 < l.empty && l.empty < emptyBelieved && l.pages < maxPages
	if doubted {
		l.ended = false
	}
	return doubted
}

// read reads up to so many more pages, until enough returns true, with the lock held. The error says
// why a page could not be read. After an error of Gemini no more pages are read in this pass; those
// read before are kept.
func (l *listing) read(ctx context.Context, more int, enough func() bool) error {
	if l.reading.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer l.reading.Release(1)
	pages := min(l.pages+more, maxPages)
	for l.wants(pages, enough) {
		if err := l.pace.wait(ctx); err != nil {
			return err
		}
		page, err := l.gemini.ListBatches(ctx, listedPerPage, l.next)
		l.pace.note(err)
		broken := err != nil && ctx.Err() == nil
		l.keep(page, err, broken)
		if err != nil && !broken { // a caller with more time may go on
			return err
		}
	}
	return l.err
}

// wants reports whether another page is to be read.
func (l *listing) wants(pages int, enough func() bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err == nil && !l.ended && l.pages < pages && !enough()
}

// keep keeps what was read of a page. broken: err ends the reading of pages in this pass.
func (l *listing) keep(page lookup.Page, err error, broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages++
	for _, listed := range page.Batches {
		if listed.Name.Key != "" {
			l.batches[listed.Name.Key] = listed
		} else {
			l.unnamed = append(l.unnamed, listed)
		}
	}
	switch {
	case err == nil && page.NextPageToken == "" && len(page.Batches) == 0: // next stays, for reopen
		l.ended, l.empty = true, l.empty+1
	case err == nil:
		l.next, l.ended, l.empty = page.NextPageToken, page.NextPageToken == "", 0
	case broken:
		l.err = err
	}
}
