package trust_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/trust"
)

// TestPolicy: which deliveries are confirmed at Gemini, and which texts are policies.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text           string
		bound, unbound bool
	}{{"never", false, false}, {"dynamic", false, true}, {"always", true, true}} {
		var policy trust.Policy
		if err := policy.UnmarshalText([]byte(test.text)); err != nil || string(policy) != test.text {
			t.Errorf("%q is decoded as %q, %v", test.text, policy, err)
		}
		if got := policy.Unverified(trust.Proof{Bound: true}); got != test.bound {
			t.Errorf("%s, a signed body: unverified is %t", policy, got)
		}
		if got := policy.Unverified(trust.Proof{}); got != test.unbound {
			t.Errorf("%s, a body that is not signed: unverified is %t", policy, got)
		}
	}
	for _, text := range []string{"", "Never", "sometimes"} {
		policy := trust.Always
		err := policy.UnmarshalText([]byte(text))
		if policy != "" || err == nil || !strings.Contains(err.Error(), "never, dynamic or always") {
			t.Errorf("%q: %q, %v", text, policy, err)
		}
	}
}
