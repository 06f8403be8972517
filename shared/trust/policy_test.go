package trust_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/trust"
)

// TestPolicy: which deliveries are only hints.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy         trust.Policy
		bound, unbound bool
	}{{trust.Never, false, false}, {trust.Dynamic, false, true}, {trust.Always, true, true}} {
		policy, err := trust.ParsePolicy(string(test.policy))
		if err != nil || policy != test.policy {
			t.Errorf("%q is read as %q, %v", test.policy, policy, err)
		}
		if got := policy.Hint(trust.Proof{Bound: true}); got != test.bound {
			t.Errorf("%s, a signed body: a hint is %t", policy, got)
		}
		if got := policy.Hint(trust.Proof{}); got != test.unbound {
			t.Errorf("%s, a body that is not signed: a hint is %t", policy, got)
		}
	}
	for _, text := range []string{"", "Never", "sometimes"} {
		if _, err := trust.ParsePolicy(text); err == nil || !strings.Contains(err.Error(), "never, dynamic or always") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
