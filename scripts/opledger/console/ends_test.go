package console

import (
	"fmt"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/operation"
)

// TestDrawEnds: the newest end is at the right, a longer delay is higher and no bar leaves the picture.
func TestDrawEnds(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	var newestFirst []operation.Record
	for i, delay := range []time.Duration{0, time.Second, time.Hour, 30 * 24 * time.Hour} {
		newestFirst = append(newestFirst, operation.Record{
			Key: operation.Key(fmt.Sprintf("batches/%d", i)), State: operation.Succeeded, UpdateTime: end,
			SettledAt: end.Add(delay), SettledBy: operation.Webhook,
		})
	}
	newestFirst[3].SettledBy = operation.Reconcile
	all := drawEnds(newestFirst)
	if all.Webhook != 3 || len(all.Bars) != 4 || all.Bars[3].Key != "batches/0" {
		t.Errorf("%+v", all)
	}
	for i, bar := range all.Bars {
		if bar.Y < endTop || bar.Y+bar.H != all.Height || bar.X < 0 || bar.X+endWidth > all.Plot ||
			i > 0 && (bar.H >= all.Bars[i-1].H || bar.X <= all.Bars[i-1].X) {
			t.Errorf("%+v", all.Bars)
		}
	}
	if want := "batches/2 SUCCEEDED, settled by webhook: 1h00m after it ended"; all.Bars[1].Words != want {
		t.Errorf("%q, want %q", all.Bars[1].Words, want)
	}
	if one := drawEnds(newestFirst[:1]); one.Plot != all.Plot {
		t.Errorf("a picture of one end is %d wide, and one of four %d", one.Plot, all.Plot)
	}
}
