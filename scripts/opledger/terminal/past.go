package terminal

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/shared/diag"
)

// ParsePast reads the time that a flag gives: as an age, such as 24h, or in RFC 3339. An empty text
// is now.
func ParsePast(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now, nil
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is neither a duration such as 24h nor a time such as 2026-11-21T02:00:00Z",
			diag.Quote(text))
	}
	return at, nil
}
