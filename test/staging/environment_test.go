package staging

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// secret is the signing secret of the tests.
const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// values are what a deployment sets each variable of infra/settings.json to; a variable with "" is
// left out. There is no Secret Manager here, so the settings hold the secrets instead of their
// names.
func values() map[string]string {
	return map[string]string{
		"GOOGLE_CLOUD_PROJECT":           "my-project",
		"OPLEDGER_STORE":                 "firestore:opledger",
		"OPLEDGER_TOPIC":                 "opledger-effects",
		"OPLEDGER_WEBHOOK_SECRET":        "",
		"OPLEDGER_GEMINI_API_KEY_SECRET": "", // keys has the key
		"OPLEDGER_EFFECT_SECRET":         secret,
		"OPLEDGER_JOB_STORAGE":           "gs://jobs",
		"OPLEDGER_EFFECTS_SLOTS":         "20",
		"OPLEDGER_EFFECTS_TIMEOUT":       "540s",
		"GOMEMLIMIT":                     "358MiB",
		"OPLEDGER_WEBHOOK_URL":           "https://opledger-webhook.example.com",
		"OPLEDGER_WEBHOOK":               "static",
		"OPLEDGER_TOLERANCE":             "4m",
		"OPLEDGER_WEBHOOK_TIMEOUT":       "9s",
		"OPLEDGER_WEBHOOK_AUDIENCE":      "",
		"OPLEDGER_WEBHOOK_ISSUER":        "",
		"OPLEDGER_JWKS_URL":              "",
		"OPLEDGER_CONFIRM":               "dynamic",
		"OPLEDGER_WEBHOOK_REENABLE":      "false",
		"OPLEDGER_ADOPT":                 "false",
		"GOOGLE_GEMINI_BASE_URL":         "",
		"OPLEDGER_GRACE":                 "90s",
		"OPLEDGER_INTERVAL":              "5m",
		"OPLEDGER_LOOKUP_MAX_INTERVAL":   "1h",
		"OPLEDGER_STUCK_AFTER":           "6h",
		"OPLEDGER_ALERT_EVERY":           "24h",
		"OPLEDGER_RETENTION":             "336h",
		"OPLEDGER_CLAIM_TTL":             "600s",
		"OPLEDGER_MAX_ATTEMPTS":          "10",
		"OPLEDGER_RETRY_FOR":             "24h",
		"OPLEDGER_RESULTS_KEPT":          "1008h",
		"OPLEDGER_MAX_BATCHES":           "80",
		"OPLEDGER_ENQUEUED_TOKENS":       "",
		"OPLEDGER_PRICES":                "",
		"OPLEDGER_RESTORED_AT":           "",
		"OPLEDGER_EFFECTS":               "",
		"OPLEDGER_TERMINAL_TRANSITIONS":  "",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE":  "false",
		"OPLEDGER_EFFECTS_PAUSED":        "false",
	}
}

// keys is the Gemini API key itself, for the functions that a deployment gives the name of its
// secret.
const keys = "GEMINI_API_KEY=key"

// environment returns the variables that a function is deployed with: those that
// infra/settings.json lists for it, with values, and with these changes.
func environment(t testing.TB, function string, given map[string]string) (variables []string) {
	t.Helper()
	module, err := command(".", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module, "infra", "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	var settings []struct {
		Name, Set string
		Functions []string
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		t.Fatal(err)
	}
	all := values()
	for _, s := range settings {
		if s.Set == "never" || !slices.Contains(s.Functions, function) {
			continue
		}
		value, ok := all[s.Name]
		if !ok {
			t.Fatalf("infra/settings.json has %s, and the test does not know what a deployment sets it to", s.Name)
		}
		if g, ok := given[s.Name]; ok {
			value = g
		}
		if value != "" {
			variables = append(variables, s.Name+"="+value)
		}
		if s.Name == "OPLEDGER_GEMINI_API_KEY_SECRET" {
			variables = append(variables, keys)
		}
	}
	return variables
}
