package config_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

// TestAccess: a token that could be guessed is refused, and so is a push audience without its
// account or the reverse. No token is repeated [G7].
func TestAccess(t *testing.T) {
	t.Parallel()
	const audience, account = "OPLEDGER_PUSH_AUDIENCE=https://ledger.example",
		"OPLEDGER_PUSH_ACCOUNT=push@p.iam.gserviceaccount.com"
	for _, c := range []struct {
		set  []string
		says string
	}{
		{nil, ""},
		{[]string{"OPLEDGER_SERVE_TOKEN=" + strings.Repeat("0", 32)}, ""},
		{[]string{"OPLEDGER_SERVE_TOKEN=" + strings.Repeat("0", 31)},
			"OPLEDGER_SERVE_TOKEN: it must have at least 32 characters"},
		{[]string{"OPLEDGER_SERVE_TOKEN=" + strings.Repeat("hunter2 ", 5)}, "OPLEDGER_SERVE_TOKEN: "},
		{[]string{"OPLEDGER_SERVE_TOKEN=" + strings.Repeat("hunter2é", 5)}, "OPLEDGER_SERVE_TOKEN: "},
		{[]string{audience, account}, ""},
		{[]string{audience}, "OPLEDGER_PUSH_AUDIENCE: it needs OPLEDGER_PUSH_ACCOUNT"},
		{[]string{account}, "OPLEDGER_PUSH_ACCOUNT: it needs OPLEDGER_PUSH_AUDIENCE"},
		{[]string{audience, "OPLEDGER_PUSH_ACCOUNT=1083"}, "OPLEDGER_PUSH_ACCOUNT: it must be the e-mail address"},
	} {
		_, err := config.Parse[struct{ Access config.Access }](c.set)
		switch {
		case c.says == "" && err != nil, c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%q: %v, want %q", c.set, err, c.says)
		case err != nil && (strings.Contains(err.Error(), "hunter2") || len(diag.Split(err)) != 1):
			t.Errorf("%q: %v", c.set, err)
		}
	}
}
