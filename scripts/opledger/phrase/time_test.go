package phrase

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 1500 * time.Millisecond: "1s", 59 * time.Second: "59s", 61 * time.Second: "1m01s",
		2*time.Hour + 5*time.Minute: "2h05m", 99*time.Hour + 59*time.Minute: "4d03h",
	} {
		if got := Span(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for late, want := range map[time.Duration]string{
		0: "due now", 999 * time.Millisecond: "due now", time.Second: "due for 1s", time.Hour: "due for 1h00m",
	} {
		if got := Due(now.Add(-late), now); got != want {
			t.Errorf("%v: %q, want %q", late, got, want)
		}
	}
}
