package effect

import (
	"errors"
	"time"
)

// AskedToWait returns what RetryAfter said, and whether it said anything.
func AskedToWait(err error) (time.Duration, bool) {
	return retryAfter(err), errors.As(err, new(retryError))
}
