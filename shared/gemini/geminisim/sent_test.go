package geminisim_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestSent: a key counts once for each line that was sent, and a result says how often that was by then,
// also when it is read later.
func TestSent(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{CountKeys: true})
	first := ask(t, sim, client, "first", geminisim.StateSucceeded, asks(3)...)
	second := ask(t, sim, client, "second", geminisim.StateSucceeded, asks(2)...)
	ask(t, sim, client, "third", geminisim.StateFailed, asks(1)...)
	for key, want := range map[string]int{"review-1": 3, "review-2": 2, "review-3": 1, "review-4": 0} {
		if got := sim.Sent(key); got != want {
			t.Errorf("%s was sent %d times, want %d", key, got, want)
		}
	}
	if diff := cmp.Diff(map[string]int{"review-1": 3, "review-2": 2}, maps.Collect(sim.SentAgain())); diff != "" {
		t.Error(diff)
	}
	for name, says := range map[string]string{first.Name: "sent 1 times.", second.Name: "sent 2 times."} {
		for _, line := range download(t, sim, name) {
			if !strings.Contains(line, says) {
				t.Errorf("%s, want %q", line, says)
			}
		}
	}
}

// TestSentUncounted: without CountKeys nothing is counted, and no result says how often.
func TestSentUncounted(t *testing.T) {
	t.Parallel()
	sim, client, _ := serve(t, geminisim.Config{})
	ask(t, sim, client, "first", geminisim.StateSucceeded, asks(1)...)
	job := ask(t, sim, client, "second", geminisim.StateSucceeded, asks(1)...)
	if again := maps.Collect(sim.SentAgain()); sim.Sent("review-1") != 0 || len(again) != 0 {
		t.Errorf("%d, %v", sim.Sent("review-1"), again)
	}
	if line := download(t, sim, job.Name)[0]; !strings.Contains(line, `"Result of review-1."`) {
		t.Error(line)
	}
}
