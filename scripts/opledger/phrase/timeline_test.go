package phrase

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestTimeline: the whole story in the order of its times, and what comes next.
func TestTimeline(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	s := ledger.Story{
		Record: operation.Record{
			Key: "batches/a", Registered: true, State: operation.Succeeded, SubmittedAt: start, CreatedAt: at(2),
			SettledAt: at(60), SettledBy: operation.Webhook,
		},
		Deliveries: []ledger.Delivery{{
			ReceivedAt: at(60), Source: operation.Webhook, Type: "batch.succeeded", State: operation.Succeeded,
			Outcome: ledger.Applied, Reason: operation.Advanced,
		}},
		Effects: []ledger.Effect{{
			Name: "publish", State: ledger.EffectPending, CreatedAt: at(60), ClaimableAt: at(200), Fence: 4,
			History: []ledger.Attempt{
				{Fence: 1, Began: at(61), Ended: at(61).Add(40 * time.Millisecond), Outcome: ledger.AttemptFailed, Status: 503,
					Error: "down\x1b"},
				{Fence: 2, Began: at(70)},
				{Fence: 3, Began: at(80), Ended: at(110), Outcome: ledger.AttemptInterrupted},
			},
			Replays: []ledger.Replay{{At: at(75), By: "ops"}},
		}},
	}
	var lines []string
	for _, e := range (EffectView{Now: at(128)}).Timeline(s, ledger.Intent{
		Version: 1, Submission: operation.Submission{CorrelationID: "night-1"},
		CreatedAt: start.Add(-time.Second)}) {
		lines = append(lines, fmt.Sprintf("%v %s %s", e.At.Sub(start), e.Lane, e.Words))
	}
	want := `-1s operation intent recorded: night-1
0s operation submitted
2s operation recorded in the ledger
1m0s deliveries webhook batch.succeeded SUCCEEDED: applied (advanced)
1m0s operation settled SUCCEEDED by webhook
1m0s publish planned
1m1s publish attempt, failed after 40ms, status 503: down\x1b
1m10s publish attempt, whose outcome an earlier version did not record
1m15s publish replayed by ops
1m20s publish attempt, interrupted after 30s
3m20s publish the next attempt, in 1m12s`
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestTimelineTones: an end has the tone of its state, and what was delivered that of the decision.
func TestTimelineTones(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	s := ledger.Story{
		Record: operation.Record{
			Registered: true, State: operation.Failed, SubmittedAt: start, CreatedAt: start,
			SettledAt: start.Add(time.Minute), SettledBy: operation.Webhook,
		},
		Deliveries: []ledger.Delivery{
			{ReceivedAt: start.Add(time.Minute), State: operation.Failed, Outcome: ledger.Applied},
			{ReceivedAt: start.Add(time.Hour), State: operation.Succeeded, Outcome: ledger.Conflict},
		},
		Effects: []ledger.Effect{{Name: "note", State: ledger.EffectPending, ClaimableAt: start.Add(time.Minute)}},
	}
	var got []string
	for _, e := range (EffectView{Now: start.Add(2 * time.Hour), Paused: true}).Timeline(s, ledger.Intent{}) {
		got = append(got, fmt.Sprintf("%s: %s", e.Tone, e.Words))
	}
	want := "neutral: submitted, neutral: - FAILED: applied, bad: settled FAILED by webhook, " +
		"warn: the next attempt, when the pause ends, warn: - SUCCEEDED: conflict"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, ", "), want)
	}
}
