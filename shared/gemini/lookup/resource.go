package lookup

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/opledger/opledger/shared/operation"
)

// A resource is what the ledger needs of a batch as the API gives it.
type resource struct {
	name, state, updateTime, endTime string
	result                           operation.Result
}

// readResource reads one batch, whole: one that is cut short or followed by something else is an error.
func readResource(body io.Reader) (resource, error) {
	var (
		r resource
		s = newStream(body)
	)
	err := s.object(func(key string) error {
		switch key {
		case "name":
			return s.text(&r.name)
		case "metadata":
			return s.object(func(key string) error { return r.readMetadata(s, key) })
		case "error":
			return s.object(func(key string) error {
				switch key {
				case "code":
					return s.scalar(&r.result.ErrorCode)
				case "message":
					return s.text(&r.result.ErrorMessage)
				}
				return s.skip()
			})
		}
		return s.skip()
	})
	if err != nil {
		return resource{}, err
	}
	if _, err := s.token(); !errors.Is(err, io.EOF) {
		return resource{}, errors.New("something follows the answer")
	}
	return r, nil
}

func (r *resource) readMetadata(s *stream, key string) error {
	switch key {
	case "state":
		return s.text(&r.state)
	case "updateTime":
		return s.text(&r.updateTime)
	case "endTime":
		return s.text(&r.endTime)
	case "batchStats":
		return s.object(func(key string) error { return r.readCount(s, key) })
	case "output":
		return s.object(func(key string) error {
			switch key {
			case "responsesFile":
				return s.text(&r.result.OutputFile)
			case "inlinedResponses", "inlinedEmbedContentResponses":
				return s.holdsItems(&r.result.Inline)
			}
			return s.skip()
		})
	}
	return s.skip()
}

// readCount reads one of the counts, which live answers give as texts. What is no count is left out.
func (r *resource) readCount(s *stream, key string) error {
	var text string
	if err := s.scalar(&text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return nil //nolint:nilerr // the state counts more
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
