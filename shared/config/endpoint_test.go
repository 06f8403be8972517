package config_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

// TestEndpoint: the webhook's address must be one that Gemini can deliver to, and enabling the
// webhook again needs that address.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  []string
		says string
	}{
		{nil, ""},
		{[]string{"OPLEDGER_WEBHOOK_URL=https://webhook-abc-uc.a.run.app"}, ""},
		{[]string{"OPLEDGER_WEBHOOK_URL=https://example.com:8443/webhook?a=b", "OPLEDGER_WEBHOOK_REENABLE=true"}, ""},
		{[]string{"OPLEDGER_WEBHOOK_URL=http://example.com"}, "OPLEDGER_WEBHOOK_URL: it must be an https URL"},
		{[]string{"OPLEDGER_WEBHOOK_URL=example.com"}, "OPLEDGER_WEBHOOK_URL: it must be an https URL"},
		{[]string{"OPLEDGER_WEBHOOK_URL=https://:443/"}, "OPLEDGER_WEBHOOK_URL: it must be an https URL"},
		{[]string{"OPLEDGER_WEBHOOK_URL=https://%zz"}, "OPLEDGER_WEBHOOK_URL: it must be an https URL"},
		{[]string{"OPLEDGER_WEBHOOK_URL=https://user:hunter2@example.com/"}, "OPLEDGER_WEBHOOK_URL: it must not hold a user"},
		{[]string{"OPLEDGER_WEBHOOK_URL=https://example.com/#x"}, "OPLEDGER_WEBHOOK_URL: it must not have a fragment"},
		{[]string{"OPLEDGER_WEBHOOK_REENABLE=true"}, "OPLEDGER_WEBHOOK_REENABLE: it needs OPLEDGER_WEBHOOK_URL"},
		{[]string{"OPLEDGER_WEBHOOK_REENABLE=perhaps"}, "OPLEDGER_WEBHOOK_REENABLE: "},
		{[]string{"OPLEDGER_WEBHOOK=some"}, "OPLEDGER_WEBHOOK: it must be static, dynamic or none, not "},
		{[]string{"OPLEDGER_WEBHOOK=none", "OPLEDGER_WEBHOOK_URL=https://example.com", "OPLEDGER_WEBHOOK_REENABLE=true"},
			"OPLEDGER_WEBHOOK_REENABLE: it needs a static webhook, and OPLEDGER_WEBHOOK is none"},
	} {
		got, err := config.Parse[struct{ Endpoint config.Endpoint }](c.set)
		switch {
		case c.says == "" && err != nil, c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%q: %v, want %q", c.set, err, c.says)
		case err != nil && (strings.Contains(err.Error(), "hunter2") || len(diag.Split(err)) != 1):
			t.Errorf("%q: %v", c.set, err)
		case c.says == "" && !got.Endpoint.Static():
			t.Errorf("%q: it is not static", c.set)
		case c.says == "" && len(c.set) == 2 && (!got.Endpoint.Reenable || got.Endpoint.URL == ""):
			t.Errorf("%+v", got)
		}
	}
}

// TestEndpointKinds: only a static webhook can be checked at Gemini.
func TestEndpointKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{"": true, "static": true, "dynamic": false, "none": false} {
		got, err := config.Parse[struct{ Endpoint config.Endpoint }]([]string{"OPLEDGER_WEBHOOK_URL=https://example.com",
			"OPLEDGER_WEBHOOK=" + kind})
		if err != nil || got.Endpoint.Static() != want {
			t.Errorf("%q: %v, %v, want %v", kind, got.Endpoint.Static(), err, want)
		}
	}
}
