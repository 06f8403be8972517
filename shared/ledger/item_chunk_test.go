package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestGivesUpItem: an item is given up after enough failures of its own, or where it has failed often
// and for long; neither alone is enough [S4].
func TestGivesUpItem(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	most, long := l.Settings().MaxAttempts, l.Settings().RetryFor
	for _, test := range []struct {
		attempts, failures int
		ago                time.Duration
		want               bool
	}{
		{most, 0, long, true}, {most - 1, 0, long, false}, {most, 0, long - 1, false},
		{most, most, 0, true}, {most, most - 1, 0, false}, {0, 0, 0, false},
	} {
		item := Item{Attempts: test.attempts, Failures: test.failures}
		if got := l.givesUpItem(item, test.ago); got != test.want {
			t.Errorf("%+v: given up %v", test, got)
		}
	}
}

// TestWhatIsKeptOfAnItem: a FAILED item keeps a text that fits, or says until when Gemini has it.
func TestWhatIsKeptOfAnItem(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	largest, invalid := strings.Repeat("x", MaxKeptBytes), "\xff"
	for _, test := range []struct {
		response, error string
		kept            bool
	}{
		{"", "", false}, {largest, "", true}, {largest, "x", false}, {"x", "y", true}, {invalid, "", false},
		{"x", invalid, false},
	} {
		c := chunk{ledger: newLedger(t).protocol, now: now,
			record: operation.Record{UpdateTime: time.Unix(0, 0), SettledAt: now}}
		item := c.failed(Item{}, ItemOutcome{
			Err: errors.New("no"), Permanent: true, Response: []byte(test.response), Error: []byte(test.error),
		})
		want := Item{}
		if test.kept {
			want.Response, want.Error = test.response, test.error
		} else {
			want.FetchableUntil = now.Add(c.ledger.settings.ResultsKept) // an event of 1970 had no time [M4]
		}
		if item.Response != want.Response || item.Error != want.Error || !item.FetchableUntil.Equal(want.FetchableUntil) {
			t.Errorf("%d and %d bytes: kept %d and %d, else until %v", len(test.response), len(test.error),
				len(item.Response), len(item.Error), item.FetchableUntil)
		}
	}
}

// TestWhole: a result is whole after its last item, where there are as many as requests; and never while
// its length or their number is not known.
func TestWhole(t *testing.T) {
	t.Parallel()
	for p, want := range map[[3]int64]bool{
		{0, 0, 0}: false, {5, 0, 5}: false, {5, 5, 0}: false, {5, 6, 5}: false, {6, 6, 6}: true, {7, 6, 6}: true,
		{6, 6, 7}: false, {6, 6, 3}: true,
	} {
		if got := (ItemProgress{Next: p[0], Length: p[1], Total: p[2]}).Whole(); got != want {
			t.Errorf("at %d of %d, with %d requests: whole %v", p[0], p[1], p[2], got)
		}
	}
}
