package deployment_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestCanaryRefused: every mistake in the settings and flags is named at once, and nothing is sent.
func TestCanaryRefused(t *testing.T) {
	t.Parallel()
	commandtest.Run(t, nil, "canary").Want(t, terminal.ExitUsage,
		"4 problems, and nothing was done", "GOOGLE_CLOUD_PROJECT: it is not set", "OPLEDGER_TOPIC: it is not set",
		"OPLEDGER_WEBHOOK_URL: it is not set", "OPLEDGER_WEBHOOK_SECRET: it is not set")
	deployed := []string{
		"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_STORE=firestore:opledger", "OPLEDGER_TOPIC=staging-effects",
		"OPLEDGER_WEBHOOK_URL=https://webhook.example", "OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/s",
	}
	for _, c := range []struct {
		variable string
		args     []string
		says     string
	}{
		{"OPLEDGER_STORE=sqlite:x.db", nil, "OPLEDGER_STORE: a deployed function keeps its ledger in Firestore"},
		{"OPLEDGER_TOPIC=completions", nil, "--prefix: the topic completions is not PREFIX-effects"},
		{"", []string{"--prefix", "prod"}, "--prefix: prod-effects is not the topic in OPLEDGER_TOPIC, staging-effects"},
		{"", []string{"--region", ""}, "--region: it is empty"},
		{"", []string{"--json", "--log"}, "--json and --log cannot be used together"},
		{"", []string{"now"}, `wrong arguments: "now"; write opledger canary [flags]`},
		{"OPLEDGER_WEBHOOK_URI=https://webhook.example", nil, "OPLEDGER_WEBHOOK_URI: there is no such setting"},
		{"OPLEDGER_WEBHOOK_SECRET=whsec_x", nil, "OPLEDGER_WEBHOOK_SECRET: webhook secret is malformed"},
	} {
		variables := append([]string{}, deployed...)
		if c.variable != "" {
			variables = append(variables, c.variable)
		}
		if s := commandtest.Run(t, variables, append([]string{"canary"}, c.args...)...).Want(t, terminal.ExitUsage,
			c.says); s.Out != "" ||
			strings.Contains(s.Err, "whsec_x") {
			t.Errorf("%q: it printed %s%s", c.says, s.Out, s.Err)
		}
	}
}
