package operation_test

import (
	"testing"

	"github.com/opledger/opledger/shared/operation"
)

// benchmarked has one event for every reason.
func benchmarked(t testing.TB) []struct {
	record  operation.Record
	event   operation.Event
	allowed operation.Transitions
	want    operation.Reason
} {
	allowed := transitions(t, "SUCCEEDED:FAILED FAILED:EXPIRED")
	none := operation.Transitions{}
	return []struct {
		record  operation.Record
		event   operation.Event
		allowed operation.Transitions
		want    operation.Reason
	}{
		{record(operation.Running, early), event(operation.Succeeded, late), none, operation.Advanced},
		{record(operation.Running, early), event(operation.Running, late), none, operation.Refreshed},
		{record(operation.Succeeded, early), event(operation.Expired, late), allowed, operation.Transition},
		{record(operation.Succeeded, early), event(operation.Running, late), none, operation.RegressFromTerminal},
		{record(operation.Running, early), event(operation.Pending, late), none, operation.LowerRank},
		{record(operation.Succeeded, early), event(operation.Failed, late), none, operation.TerminalConflict},
		{record(operation.Succeeded, late), event(operation.Succeeded, early), none, operation.StaleOrEqualUpdateTime},
	}
}

// TestReduceAllocatesNothing: a decision allocates nothing. The test is not parallel because
// allocations are counted for the whole process.
func TestReduceAllocatesNothing(t *testing.T) {
	for _, b := range benchmarked(t) {
		var got operation.Decision
		if n := testing.AllocsPerRun(100, func() { got = operation.Reduce(b.record, b.event, b.allowed) }); n != 0 {
			t.Errorf("%s: %v allocations", b.want, n)
		}
		if got.Reason != b.want {
			t.Errorf("reason is %q, want %q", got.Reason, b.want)
		}
	}
}

// TestCollectionAllocatesNothing: nor does the collection of a key, which each event is asked for several times.
func TestCollectionAllocatesNothing(t *testing.T) {
	for key, want := range map[operation.Key]operation.Collection{
		"batches/abc": operation.Batches, "jobs/nightly": operation.Jobs, "files/abc": "",
	} {
		var got operation.Collection
		if n := testing.AllocsPerRun(100, func() { got = key.Collection() }); n != 0 {
			t.Errorf("%s: %v allocations", key, n)
		}
		if got != want {
			t.Errorf("the collection of %s is %q, want %q", key, got, want)
		}
	}
}

// BenchmarkReduce: time and allocations of one decision, by its reason.
func BenchmarkReduce(b *testing.B) {
	for _, bench := range benchmarked(b) {
		b.Run(string(bench.want), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				operation.Reduce(bench.record, bench.event, bench.allowed)
			}
		})
	}
}

// BenchmarkParseName: time and allocations of one name, by its form.
func BenchmarkParseName(b *testing.B) {
	for _, bench := range []struct {
		about, raw string
		fallback   operation.Collection
	}{
		{"name", "batches/k0h9q38f6ejj1g9j7cgcdsauadmbewegl79f", ""},
		{"bare", "k0h9q38f6ejj1g9j7cgcdsauadmbewegl79f", operation.Batches},
		{"project", "projects/p/locations/us/operations/abc-123/", ""},
		{"url", "https://generativelanguage.googleapis.com/v1beta/batches/k0h9q38f6ejj1g9j7cgcdsauadmbewegl79f?alt=json", ""},
	} {
		b.Run(bench.about, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := operation.ParseName(bench.raw, bench.fallback); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
