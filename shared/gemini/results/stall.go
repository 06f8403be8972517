package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// stallTimeout is how long a download may bring nothing while it is being read: the connection may
// stand although its other end is gone, and nothing else bounds a download.
const stallTimeout = time.Minute

var errStalled = fmt.Errorf("nothing came for %v", stallTimeout)

// A stallable is the body of an answer that ends when it stalls. What its reader does between two
// reads may take any time.
type stallable struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // of the request that it answers
	end context.CancelCauseFunc
}

// Read implements io.Reader.
func (s *stallable) Read(p []byte) (int, error) {
	timer := time.AfterFunc(stallTimeout, func() { s.end(errStalled) })
	defer timer.Stop()
	n, err := s.ReadCloser.Read(p)
	if err != nil && errors.Is(context.Cause(s.ctx), errStalled) {
		err = errStalled
	}
	return n, err //nolint:wrapcheck // io.EOF must stay io.EOF
}

// Close implements io.Closer.
func (s *stallable) Close() error {
	defer s.end(nil)
	return s.ReadCloser.Close() //nolint:wrapcheck // it stands for the body
}
