package trust

import (
	"fmt"
	"testing"
	"time"
)

// TestUnknownIDsAreBounded: the memory of unknown ids is bounded, and is emptied with time.
func TestUnknownIDsAreBounded(t *testing.T) {
	t.Parallel()
	u, now := &unknownIDs{until: map[string]time.Time{}}, time.Unix(1700000000, 0)
	for i := range 10 * maxUnknown {
		u.add(fmt.Sprint(i), now)
	}
	if len(u.until) != maxUnknown || !u.has("0", now) || u.has("999", now) {
		t.Errorf("%d remembered", len(u.until))
	}
	now = now.Add(unknownFor)
	u.add("new", now)
	if len(u.until) != 1 || !u.has("new", now) || u.has("0", now) {
		t.Errorf("%d remembered after their time", len(u.until))
	}
}
