package lookup_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/operation"
)

// TestAnswerEvent: an answer becomes an event, whose id depends on state and time alone [R2].
func TestAnswerEvent(t *testing.T) {
	t.Parallel()
	n := operationName(t, "batches/abc123")
	result := operation.Result{OutputFile: "files/x"}
	for _, test := range []struct {
		at     time.Time
		id     string
		cut    time.Time
		source operation.Source
	}{
		{at: noon, id: "reconcile-SUCCEEDED-2026-01-22T12:00:00.000000Z", cut: noon},
		{at: noon.Add(123456789), id: "reconcile-SUCCEEDED-2026-01-22T12:00:00.123456Z", cut: noon.Add(123456000)},
		{at: noon.In(time.FixedZone("", 3600)), id: "reconcile-SUCCEEDED-2026-01-22T12:00:00.000000Z", cut: noon},
		{id: "reconcile-SUCCEEDED"},
	} {
		got := lookup.Answer{State: operation.Succeeded, UpdateTime: test.at, Result: result, CorrelationID: "c-1"}.Event(n)
		want := operation.Event{
			Name: n, DeliveryID: test.id, Source: operation.Reconcile, State: operation.Succeeded, UpdateTime: test.cut,
			Result:        result,
			CorrelationID: "c-1",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	for _, a := range []lookup.Answer{{}, {State: "DREAMING"}, {State: operation.Succeeded, Reason: lookup.NotFound}} {
		if a.Known() || a.Event(n).State != operation.Unknown {
			t.Errorf("M1: %+v is known", a)
		}
	}
}
