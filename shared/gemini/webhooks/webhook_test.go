package webhooks_test

import (
	"testing"
	"time"

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

// TestUnknown: a webhook signs with an unknown secret only where that is sure: every secret that signs now is shown as
// documented, and none may be a known one.
func TestUnknown(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	shown := func(truncated string, expires time.Time) webhooks.Secret {
		return webhooks.Secret{Truncated: truncated, Expires: expires}
	}
	known := []string{"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODk3frh", "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODk4abc"}
	ours, other := shown("whsec_...3frh", time.Time{}), shown("whsec_...xxxx", time.Time{})
	for what, c := range map[string]struct {
		listed []webhooks.Secret
		want   webhooks.Secret
	}{
		"another":                       {[]webhooks.Secret{other}, other},
		"ours":                          {[]webhooks.Secret{ours}, webhooks.Secret{}},
		"ours is signed with, too":      {[]webhooks.Secret{other, shown("whsec_...4abc", at.Add(1))}, webhooks.Secret{}},
		"ours has expired":              {[]webhooks.Secret{other, shown("whsec_...3frh", at)}, other},
		"none is listed":                {nil, webhooks.Secret{}},
		"only what has expired":         {[]webhooks.Secret{shown("whsec_...xxxx", at)}, webhooks.Secret{}},
		"shown in another form":         {[]webhooks.Secret{other, shown("xxxx", time.Time{})}, webhooks.Secret{}},
		"shown with too few characters": {[]webhooks.Secret{shown("whsec_...xx", time.Time{})}, webhooks.Secret{}},
	} {
		got, unknown := webhooks.Webhook{Secrets: c.listed}.Unknown(known, at)
		if got != c.want || unknown != (c.want != webhooks.Secret{}) {
			t.Errorf("%s: %+v, %v", what, got, unknown)
		}
	}
	if _, unknown := (webhooks.Webhook{Secrets: []webhooks.Secret{ours}}).Unknown(nil, at); !unknown {
		t.Error("without any secret every one is unknown")
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
