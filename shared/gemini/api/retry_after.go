package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter returns how long a server asks to wait, from the value of its Retry-After header: a
// number of seconds or a date. It is 0 for any other text and for a date that is past, and never more
// than limit: one answer, which may be a mistake, must not stop the work for good.
func ParseRetryAfter(value string, now time.Time, limit time.Duration) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		if seconds > uint64(limit/time.Second) {
			return limit
		}
		return time.Duration(seconds) * time.Second //nolint:gosec // at most limit
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), limit)
}
