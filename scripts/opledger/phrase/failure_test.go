package phrase

import (
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestGroupFailures: effects that died of the same are one group, however often each had failed.
func TestGroupFailures(t *testing.T) {
	t.Parallel()
	newest := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	effects := []ledger.Effect{
		{LastError: "it said no"},
		{LastError: "failed attempts: 31 within 24h40m11s; the last error: it is down", DiedAt: newest},
		{LastError: "failed attempts: 10 within 24h0m0s; the last error: it is down", DiedAt: newest.Add(-time.Hour)},
	}
	want := []FailureGroup{{Failure: "it is down", Count: 2, Newest: newest}, {Failure: "it said no", Count: 1}}
	if got := GroupFailures(effects); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}
