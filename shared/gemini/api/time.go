package api

import "time"

// ParseTime parses a time of an answer and returns zero for any other text, because what has the time
// counts without it.
func ParseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
