package phrase

import (
	"fmt"
	"time"
)

// LocalTime is a time in the local zone, with its offset.
func LocalTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05-07:00")
}

// Span is a duration in its two greatest units.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = d.Truncate(time.Second); {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return d.String()
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
	}
}

// Took is a duration that may be short: below a second in milliseconds, else as Span.
func Took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return Span(d)
}

// Due says for how long something is due: "due now" or "due for 40s".
func Due(since, now time.Time) string {
	late := now.Sub(since)
	if late < time.Second {
		return "due now"
	}
	return "due for " + Span(late)
}

// Relative is a time as it is seen from now: "3m05s ago" or "in 40s".
func Relative(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case t.After(now):
		return "in " + Span(t.Sub(now))
	default:
		return Span(now.Sub(t)) + " ago"
	}
}
