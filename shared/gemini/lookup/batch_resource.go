package lookup

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/opledger/opledger/shared/gemini/api"
	"github.com/opledger/opledger/shared/operation"
)

// A resource is the part of a batch that the ledger needs, or of an error in its place.
type resource struct {
	name, displayName, state, createTime, updateTime, endTime string
	result                                                    operation.Result // without the error
	// failure is the batch's own, or an error that was sent in its place.
	failure reported
}

// readBatch reads one batch to its end. A text that is cut short, or continues after the batch, is
// an error.
func readBatch(body io.Reader) (r resource, err error) {
	err = api.NewJSON(body).DocumentOf(r.members())
	return r, err
}

// readPage reads a page of batches to its end, and calls entry with each. An entry that is no batch
// is an empty one. The result holds an error that was sent in place of the page.
func readPage(body io.Reader, next *string, entry func(resource) error) (page resource, err error) {
	err = api.NewJSON(body).DocumentOf(api.Members{
		"operations": func(s *api.JSON) error {
			return s.List(func() error {
				var r resource
				if err := api.Object(r.members())(s); err != nil {
					return err
				}
				return entry(r)
			})
		},
		"nextPageToken": api.Text(next),
		"error":         page.failure.read,
	})
	return page, err
}

// members are what is read of a batch.
func (r *resource) members() api.Members {
	return api.Members{
		"name": api.Text(&r.name),
		"metadata": api.Object(api.Members{
			"state":       api.Text(&r.state),
			"displayName": api.Text(&r.displayName),
			"createTime":  api.Text(&r.createTime),
			"updateTime":  api.Text(&r.updateTime),
			"endTime":     api.Text(&r.endTime),
			"batchStats": func(s *api.JSON) error {
				return s.Object(func(key string) error { return r.readCount(s, key) })
			},
			"output": api.Object(api.Members{
				"responsesFile":                api.Text(&r.result.OutputFile),
				"inlinedResponses":             r.readItems(),
				"inlinedEmbedContentResponses": r.readItems(),
			}),
		}),
		"error": r.failure.read,
	}
}

// complaint completes a sentence about what is missing with the error that was sent instead.
func (r *resource) complaint() string {
	if !r.failure.there {
		return ""
	}
	return fmt.Sprintf(", but the error %s: %s", r.failure.code, r.failure.message)
}

// readCount reads one of the counts, which live answers give as texts. It skips any other value.
func (r *resource) readCount(s *api.JSON, key string) error {
	var text string
	if err := s.Scalar(&text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return nil //nolint:nilerr // a wrong count must not hide the state
	}
	counts := operation.Counts{}
	if r.result.Counts != nil {
		counts = *r.result.Counts
	}
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
	r.result.Counts = &counts
	return nil
}

// readItems notes that the batch has items if the value is an object whose inlinedResponses are a
// non-empty list.
func (r *resource) readItems() api.Value {
	return api.Object(api.Members{"inlinedResponses": func(s *api.JSON) error {
		found, err := s.EnterList()
		if err != nil || !found {
			return err
		}
		r.result.Inline = true
		return s.LeaveList()
	}})
}
