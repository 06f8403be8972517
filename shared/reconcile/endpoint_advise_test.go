package reconcile

import "testing"

// TestAdvise: a message without a remedy ends as it is.
func TestAdvise(t *testing.T) {
	t.Parallel()
	for remedy, want := range map[string]string{"": "it is down", "start it": "it is down; start it"} {
		if got := advise("it is down", remedy); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
