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
	result                                                    operation.Result
	// failed says that there is an error: the batch's own, or one that was sent in its place.
	failed bool
}

// readBatch reads one batch to its end. A text that is cut short, or continues after the batch, is
// an error.
func readBatch(body io.Reader) (resource, error) {
	var r resource
	s := api.NewJSON(body)
	err := s.Document(func(key string) error { return r.readMember(s, key) })
	return r, err
}

// readPage reads a page of batches to its end, and calls entry with each. An entry that is no batch
// is an empty one. The result holds an error that was sent in place of the page.
func readPage(body io.Reader, next *string, entry func(resource) error) (resource, error) {
	var page resource
	s := api.NewJSON(body)
	err := s.Document(func(key string) error {
		switch key {
		case "operations":
			return s.List(func() error {
				var r resource
				if err := s.Object(func(key string) error { return r.readMember(s, key) }); err != nil {
					return err
				}
				return entry(r)
			})
		case "nextPageToken":
			return s.Text(next)
		case "error":
			return page.readMember(s, key)
		}
		return s.Skip()
	})
	return page, err
}

func (r *resource) readMember(s *api.JSON, key string) error {
	switch key {
	case "name":
		return s.Text(&r.name)
	case "metadata":
		return s.Object(func(key string) error { return r.readMetadata(s, key) })
	case "error":
		return s.Object(func(key string) error {
			r.failed = true
			switch key {
			case "code":
				return s.Scalar(&r.result.ErrorCode)
			case "message":
				return s.Text(&r.result.ErrorMessage)
			}
			return s.Skip()
		})
	}
	return s.Skip()
}

// complaint completes a sentence about what is missing with the error that was sent instead.
func (r *resource) complaint() string {
	if !r.failed {
		return ""
	}
	return fmt.Sprintf(", but the error %s: %s", r.result.ErrorCode, r.result.ErrorMessage)
}

func (r *resource) readMetadata(s *api.JSON, key string) error {
	switch key {
	case "state":
		return s.Text(&r.state)
	case "displayName":
		return s.Text(&r.displayName)
	case "createTime":
		return s.Text(&r.createTime)
	case "updateTime":
		return s.Text(&r.updateTime)
	case "endTime":
		return s.Text(&r.endTime)
	case "batchStats":
		return s.Object(func(key string) error { return r.readCount(s, key) })
	case "output":
		return s.Object(func(key string) error {
			switch key {
			case "responsesFile":
				return s.Text(&r.result.OutputFile)
			case "inlinedResponses", "inlinedEmbedContentResponses":
				return holdsItems(s, &r.result.Inline)
			}
			return s.Skip()
		})
	}
	return s.Skip()
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

// holdsItems sets to if the value is an object whose inlinedResponses are a non-empty list.
func holdsItems(s *api.JSON, to *bool) error {
	return s.Object(func(key string) error {
		if key != "inlinedResponses" {
			return s.Skip()
		}
		found, err := s.EnterList()
		if err != nil || !found {
			return err
		}
		*to = true
		return s.LeaveList()
	})
}
