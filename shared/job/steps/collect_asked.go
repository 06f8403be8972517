package steps

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/files"
	"github.com/opledger/opledger/shared/operation"
)

// An asked is what is known of one request of a part.
type asked struct {
	outcome job.Outcome // empty: no line was read
	final   bool        // it is not sent again
	line    bool        // a line of this read had its key
	reason  int32       // in reasons; 0: none
	check   job.Check
}

// ask reads the part's requests.
func (c *collecting) ask(ctx context.Context) error {
	c.asked = make(map[operation.KeyHash]*asked, c.part.Requests)
	all := make([]asked, 0, c.part.Requests) // one block for all
	for r, err := range files.Requests(ctx, c.Storage, c.part.Key, c.part.Sources) {
		if err != nil {
			return err
		}
		all = append(all, asked{})
		request := &all[len(all)-1]
		if request.check, err = c.checks.Of(r.Body); err != nil {
			request.check = func([]byte) string { return "its schema cannot be read: " + err.Error() }
		}
		c.asked[operation.HashKey(r.Key)] = request
	}
	if int64(len(all)) != c.part.Requests {
		return fmt.Errorf("%s has %d requests in job storage, not %d", c.part.Key, len(all), c.part.Requests)
	}
	return nil
}

// A chunk of keys that were read is stored beside the lines of an attempt that did not end: of each key its
// hash, a byte for its outcome, two for the length of why, and that text.

var outcomes = []job.Outcome{
	job.OutcomeDone, job.OutcomeInvalid, job.OutcomeTruncated, job.OutcomeRefused, job.OutcomeFailed,
}

const seenBytes = len(operation.KeyHash{}) + 3

// restore reads the keys that former attempts have read. Their lines stand, however they come this time.
func (c *collecting) restore(ctx context.Context) error {
	for _, object := range c.part.Seen {
		content, err := c.Storage.Read(ctx, object.Name, 0, -1)
		if err != nil {
			return fmt.Errorf("reading what was collected: %w", err)
		}
		err = c.restoreFrom(bufio.NewReader(content))
		if err = errors.Join(err, content.Close()); err != nil {
			return fmt.Errorf("reading what was collected, %s: %w", object.Name, err)
		}
	}
	return nil
}

func (c *collecting) restoreFrom(content io.Reader) error {
	var row [seenBytes]byte
	for {
		if _, err := io.ReadFull(content, row[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		request := c.asked[operation.KeyHash(row[:seenBytes-3])]
		code := int(row[seenBytes-3])
		if request == nil || code >= len(outcomes) {
			return errors.New("it is not of this part")
		}
		why := make([]byte, binary.BigEndian.Uint16(row[seenBytes-2:]))
		if _, err := io.ReadFull(content, why); err != nil {
			return err
		}
		request.outcome, request.reason = outcomes[code], c.reasons.of(string(why))
		request.final = c.isFinal(request.outcome)
	}
}

// isFinal reports whether a request with this outcome is not sent again.
func (c *collecting) isFinal(o job.Outcome) bool {
	return c.part.Round >= c.job.Options.MaxAttempts || !c.job.Options.Retries(o)
}

// Reasons are texts, each kept once: thousands of requests fail alike.
type reasons map[string]int32

// mostReasons bounds the different ones that are kept.
const mostReasons = 10_000

// of returns the number of a text; 0 where there is none, or there are too many.
func (r reasons) of(text string) int32 {
	if n, known := r[text]; known || text == "" || len(r) == mostReasons {
		return n
	}
	r[text] = int32(len(r) + 1) //nolint:gosec // at most mostReasons
	return r[text]
}

// texts returns the texts by their numbers.
func (r reasons) texts() []string {
	texts := make([]string, len(r)+1)
	for text, n := range r {
		texts[n] = text
	}
	return texts
}
