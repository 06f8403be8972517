package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestDescribe: what a person may see is shown, and a secret never is, also one inside a URL.
func TestDescribe(t *testing.T) {
	t.Parallel()
	type settings struct {
		Ledger  Ledger
		Webhook Webhook
		Gemini  Gemini
		Access  Access
	}
	secret := "whsec_" + strings.Repeat("c2VjcmV0", 4)
	parsed, err := Parse[settings]([]string{
		"OPLEDGER_WEBHOOK_SECRET=" + secret, "GEMINI_API_KEY=AIzaSecret", "OPLEDGER_INTERVAL=7m",
		"OPLEDGER_JWKS_URL=https://w.example/0123456789abcdef0?k=hunter2",
		"OPLEDGER_SERVE_TOKEN=" + strings.Repeat("t0ken", 8),
		`OPLEDGER_EFFECTS=[{name: page, on: [FAILED], do: http, url: "https://x.example/T0KEN"}]`,
	})
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(Describe(parsed))
	for _, want := range []string{
		"{OPLEDGER_INTERVAL 7m0s}", "{OPLEDGER_EFFECTS page (x.example)}", "{OPLEDGER_GEMINI_API_KEY_SECRET not set}",
		"{OPLEDGER_JWKS_URL https://w.example/masked?k=masked}", "{OPLEDGER_WEBHOOK_SECRET set}", "{GEMINI_API_KEY set}",
		"{OPLEDGER_RESTORED_AT not set}",
		"{OPLEDGER_LOOKUP_MAX_INTERVAL not set}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	for _, no := range []string{secret, "AIza", "t0ken", "T0KEN", "hunter2"} {
		if strings.Contains(text, no) {
			t.Errorf("%s is in %s", no, text)
		}
	}
}

// TestDescribeTimes: a time is shown in UTC, as it is stored, and a duration that may be left out where it is not.
func TestDescribeTimes(t *testing.T) {
	t.Parallel()
	type settings struct{ Ledger Ledger }
	parsed, err := Parse[settings]([]string{
		"OPLEDGER_RESTORED_AT=2026-11-21T15:00:00+01:00", "OPLEDGER_LOOKUP_MAX_INTERVAL=90m",
	})
	if err != nil {
		t.Fatal(err)
	}
	shown := Describe(parsed)
	for _, want := range []Described{
		{"OPLEDGER_RESTORED_AT", "2026-11-21T14:00:00Z"}, {"OPLEDGER_LOOKUP_MAX_INTERVAL", "1h30m0s"},
	} {
		if !slices.Contains(shown, want) {
			t.Errorf("no %s in %s", want, shown)
		}
	}
}

// TestDescribeNewSetting: a setting that is not declared as no secret is not shown, whatever its type.
func TestDescribeNewSetting(t *testing.T) {
	t.Parallel()
	type settings struct {
		Group struct {
			Text   string `env:"OPLEDGER_NEW"`
			Words  Words  `env:"OPLEDGER_NEW_WORDS"`
			Shown  string `env:"OPLEDGER_SHOWN" secret:"no"`
			Number int    `env:"OPLEDGER_NUMBER"`
		}
	}
	var s settings
	s.Group.Text, s.Group.Words, s.Group.Shown, s.Group.Number = "hunter2", Words{"hunter2"}, "plain", 7
	want := "[{OPLEDGER_NEW set} {OPLEDGER_NEW_WORDS set} {OPLEDGER_SHOWN plain} {OPLEDGER_NUMBER 7}]"
	if got := fmt.Sprint(Describe(s)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
