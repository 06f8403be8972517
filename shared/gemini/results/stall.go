package results

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
)

// stallTimeout bounds one read of a download that brings nothing. A dead connection can stay open,
// and nothing else bounds a download.
const stallTimeout = time.Minute

var errStalled = fmt.Errorf("no bytes arrived for %v", stallTimeout)

// A stallable is the body of an answer that fails when a read stalls. The time between two reads
// does not count.
type stallable struct {
	*api.Body
	ctx context.Context //nolint:containedctx // of the request that it answers
	end context.CancelCauseFunc
}

// Read implements io.Reader.
func (s *stallable) Read(p []byte) (int, error) {
	timer := time.AfterFunc(stallTimeout, func() { s.end(errStalled) })
	defer timer.Stop()
	n, err := s.Body.Read(p)
	if err != nil && errors.Is(context.Cause(s.ctx), errStalled) {
		err = errStalled
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}

// Close implements io.Closer.
func (s *stallable) Close() error {
	defer s.end(nil)
	return s.Body.Close() //nolint:wrapcheck // it stands for the body
}
