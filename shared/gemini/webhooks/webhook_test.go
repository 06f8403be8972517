package webhooks_test

import (
	"testing"

	"github.com/opledger/opledger/shared/gemini/webhooks"
)

func TestSecretOf(t *testing.T) {
	t.Parallel()
	const whole = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODk3frh"
	for truncated, want := range map[string]bool{
		"whsec_...3frh": true, "...3frh": true, "whsec_...3frx": false, "other_...3frh": false, "whsec_...": false, "": false,
		whole: true, "3frh": false,
	} {
		if got := (webhooks.Secret{Truncated: truncated}).Of(whole); got != want {
			t.Errorf("%q: %v", truncated, got)
		}
	}
	if (webhooks.Secret{Truncated: "whsec_...3frh"}).Of("whsec_rh") {
		t.Error("a secret that is shorter than what is shown of it")
	}
}

func TestSameURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example", "https://A.example:443/", true},
		{"https://a.example/x", "https://a.example/x", true},
		{"https://a.example/x", "https://a.example/x/", false},
		{"https://a.example/x", "https://a.example/X", false},
		{"https://a.example/?a", "https://a.example/?b", false},
		{"https://a.example:8443/", "https://a.example/", false},
	} {
		if got := webhooks.SameURL(c.a, c.b); got != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}
