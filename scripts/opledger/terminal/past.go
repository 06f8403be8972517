package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
)

// ParsePast reads the time that a flag gives: as an age, such as 24h or 30d, or in RFC 3339. An empty text
// is now.
func ParsePast(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return now, nil
	}
	if age, err := time.ParseDuration(text); err == nil {
		return now.Add(-age), nil
	}
	if number, ok := strings.CutSuffix(text, "d"); ok {
		if days, err := strconv.ParseUint(number, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(days)), nil
		}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is neither a duration such as 24h nor a time such as 2026-11-21T02:00:00Z",
			diag.Quote(text))
	}
	return at, nil
}
