package api

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/operation"
)

// A Batch is the part of a batch that the ledger needs, or of an error in its place. Names and times
// are as Gemini wrote them, and empty where it wrote none.
type Batch struct {
	Name, DisplayName, State, Model string
	CreateTime, UpdateTime, EndTime string
	// InputFile is the file of its requests, as files/…; empty where they are inline.
	InputFile string
	// Result has no error: that is in Failure.
	Result operation.Result
	// Failure is the batch's own, or an error that was sent in its place.
	Failure Failure
}

// ReadBatch reads one batch to its end, of any size: inline results are skipped. A text that is cut
// short, or continues after the batch, is an error, as is one of more than MaxValueBytes for one value.
func ReadBatch(body io.Reader) (b Batch, err error) {
	err = NewJSON(body).DocumentOf(b.Members())
	return b, err
}

// ReadBatches reads a page of batches to its end, and calls entry with each. An entry that is no batch
// is an empty one. The result is an error that was sent in place of the page. Errors: as ReadBatch, and
// entry's.
func ReadBatches(body io.Reader, next *string, entry func(Batch) error) (failure Failure, err error) {
	err = NewJSON(body).DocumentOf(Members{
		"operations": func(j *JSON) error {
			return j.List(func() error {
				var b Batch
				if err := Object(b.Members())(j); err != nil {
					return err
				}
				return entry(b)
			})
		},
		"nextPageToken": Text(next),
		"error":         failure.Read,
	})
	return failure, err
}

// Members are what is read of a batch.
func (b *Batch) Members() Members {
	return Members{
		"name": Text(&b.Name),
		"metadata": Object(Members{
			"state":       Text(&b.State),
			"model":       Text(&b.Model),
			"displayName": Text(&b.DisplayName),
			"createTime":  Text(&b.CreateTime),
			"updateTime":  Text(&b.UpdateTime),
			"endTime":     Text(&b.EndTime),
			"inputConfig": Object(Members{"fileName": Text(&b.InputFile)}),
			"batchStats": func(j *JSON) error {
				return j.Object(func(key string) error { return b.readCount(j, key) })
			},
			"output": Object(Members{
				"responsesFile":                Text(&b.Result.OutputFile),
				"inlinedResponses":             b.readItems(),
				"inlinedEmbedContentResponses": b.readItems(),
			}),
		}),
		"error": b.Failure.Read,
	}
}

// readCount reads one of the counts, which live answers give as texts. It skips any other value.
func (b *Batch) readCount(j *JSON, key string) error {
	var text string
	if err := j.Scalar(&text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return nil //nolint:nilerr // a wrong count must not hide the state
	}
	counts := *cmp.Or(b.Result.Counts, &operation.Counts{})
	switch key {
	case "requestCount":
		counts.Total = n
	case "successfulRequestCount":
		counts.Succeeded = n
	case "failedRequestCount":
		counts.Failed = n
	case "pendingRequestCount":
		counts.Pending = n
	default:
		return nil
	}
	b.Result.Counts = &counts
	return nil
}

// readItems notes that the batch has items if the value is an object whose inlinedResponses are a
// non-empty list.
func (b *Batch) readItems() Value {
	return Object(Members{"inlinedResponses": func(j *JSON) error {
		found, err := j.EnterList()
		if err != nil || !found {
			return err
		}
		b.Result.Inline = true
		return j.LeaveList()
	}})
}

// Known is Gemini's state of the batch in the ledger's words, and operation.Unknown for any other. The
// API has two prefixes for the same words. States of another service that are not clear (paused,
// updating, partially succeeded) are left out: a wrong guess could end a job.
func (b *Batch) Known() operation.State {
	word, ok := strings.CutPrefix(b.State, "JOB_STATE_")
	if !ok {
		word, ok = strings.CutPrefix(b.State, "BATCH_STATE_")
	}
	if !ok {
		return operation.Unknown
	}
	switch word {
	case "PENDING", "QUEUED":
		return operation.Pending
	case "RUNNING", "CANCELLING":
		return operation.Running
	case "SUCCEEDED":
		return operation.Succeeded
	case "FAILED":
		return operation.Failed
	case "CANCELLED":
		return operation.Cancelled
	case "EXPIRED":
		return operation.Expired
	default:
		return operation.Unknown
	}
}

// Since is the server's time of the batch's state [M4]; zero where it says none.
func (b *Batch) Since() time.Time {
	return cmp.Or(gemini.ParseTime(b.UpdateTime), gemini.ParseTime(b.EndTime))
}
