package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/api"
)

// TestParseRetryAfter: a number of seconds or a date, never more than the limit.
func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)
	const limit = time.Hour
	for value, want := range map[string]time.Duration{
		"":                     0,
		"0":                    0,
		"7":                    7 * time.Second,
		" 7 ":                  7 * time.Second,
		"3600":                 limit,
		"3601":                 limit,
		"4000000000":           limit,
		"18446744073709551615": limit,
		"99999999999999999999": 0, // no number of seconds
		"-5":                   0,
		"1.5":                  0,
		"soon":                 0,
		now.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		now.Add(-time.Second).Format(http.TimeFormat):     0,
		"Fri, 31 Dec 9999 23:59:59 GMT":                   limit,
	} {
		if got := api.ParseRetryAfter(value, now, limit); got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}
