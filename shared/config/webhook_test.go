package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/trust"
)

const anotherSecret = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA="

type delivered struct{ Webhook config.Webhook }

// TestWebhook: the value that each of the webhook's variables sets.
func TestWebhook(t *testing.T) {
	t.Parallel()
	type result struct {
		Secrets, Names, Audiences, Issuers []string
		KeysURL                            string
		Confirm                            trust.Policy
		Tolerance, Timeout                 time.Duration
		Asks                               bool
	}
	standard := result{Confirm: trust.Dynamic, Tolerance: 5 * time.Minute,
		Timeout: 10 * time.Second}
	for _, c := range []struct {
		name string
		set  []string
		want func(*result)
	}{
		{"nothing", nil, func(*result) {}},
		{"a blank secret is none, and never an empty key", []string{"OPLEDGER_WEBHOOK_SECRET= \n "},
			func(*result) {}},
		{"one secret", []string{"OPLEDGER_WEBHOOK_SECRET=" + secret}, func(r *result) { r.Secrets = []string{secret} }},
		{"secrets and names mixed",
			[]string{"OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/a " + secret + "\n projects/q/secrets/b\t" + anotherSecret},
			func(r *result) {
				r.Secrets, r.Names = []string{secret, anotherSecret}, []string{"projects/p/secrets/a", "projects/q/secrets/b"}
			}},
		{"an audience makes unverified deliveries possible", []string{"OPLEDGER_WEBHOOK_AUDIENCE= a  b ", "GEMINI_API_KEY=k"},
			func(r *result) { r.Audiences, r.Asks = []string{"a", "b"}, true }},
		{"issuers", []string{"OPLEDGER_WEBHOOK_AUDIENCE=a", "OPLEDGER_WEBHOOK_ISSUER=i j",
			"OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/k"},
			func(r *result) { r.Audiences, r.Issuers, r.Asks = []string{"a"}, []string{"i", "j"}, true }},
		{"never asks Gemini", []string{"OPLEDGER_WEBHOOK_AUDIENCE=a", "OPLEDGER_CONFIRM=never"},
			func(r *result) { r.Audiences, r.Confirm = []string{"a"}, trust.Never }},
		{"always asks, with no audience too", []string{"OPLEDGER_CONFIRM=always", "GEMINI_API_KEY=k"},
			func(r *result) { r.Confirm, r.Asks = trust.Always, true }},
		{"keys elsewhere", []string{"OPLEDGER_JWKS_URL=https://www.googleapis.com/oauth2/v3/certs"},
			func(r *result) { r.KeysURL = "https://www.googleapis.com/oauth2/v3/certs" }},
		{"keys on this machine", []string{"OPLEDGER_JWKS_URL=http://127.0.0.1:8080/keys"},
			func(r *result) { r.KeysURL = "http://127.0.0.1:8080/keys" }},
		{"tolerance", []string{"OPLEDGER_TOLERANCE=90s"}, func(r *result) { r.Tolerance = 90 * time.Second }},
		{"timeout", []string{"OPLEDGER_WEBHOOK_TIMEOUT=2500ms"}, func(r *result) { r.Timeout = 2500 * time.Millisecond }},
	} {
		settings, err := config.Parse[delivered](c.set)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		w := settings.Webhook
		got := result{
			Secrets: w.Secrets.Values, Audiences: w.Audiences, Issuers: w.Issuers, KeysURL: w.KeysURL, Confirm: w.Confirm,
			Tolerance: w.Tolerance, Timeout: w.Timeout, Asks: w.Asks(),
		}
		for _, name := range w.Secrets.Names {
			got.Names = append(got.Names, name.String())
		}
		want := standard
		c.want(&want)
		if diff := cmp.Diff(want, got,
			cmp.Transformer("list", func(list []string) string { return strings.Join(list, "|") })); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// TestWebhookProblems: each invalid value is one problem, which names its variable, says how to
// write it, and repeats no secret.
func TestWebhookProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  []string
		says []string // each is the beginning of one problem
	}{
		{[]string{"OPLEDGER_WEBHOOK_SECRET=hunter2"},
			[]string{"OPLEDGER_WEBHOOK_SECRET: webhook secret is malformed: secret 1 of 1"}},
		{[]string{"OPLEDGER_WEBHOOK_SECRET=" + secret + " whsec_hunter2 whsec_"},
			[]string{"OPLEDGER_WEBHOOK_SECRET: webhook secret is malformed: secret 2 of 3",
				"OPLEDGER_WEBHOOK_SECRET: webhook secret is malformed: secret 3 of 3"}},
		{[]string{"OPLEDGER_WEBHOOK_SECRET=projects/x"},
			[]string{"OPLEDGER_WEBHOOK_SECRET: it must be the name of a secret"}},
		{[]string{"OPLEDGER_WEBHOOK_SECRET=projects/p/secrets/s/versions/3 whsec_"},
			[]string{"OPLEDGER_WEBHOOK_SECRET: ", "OPLEDGER_WEBHOOK_SECRET: webhook secret is malformed: secret 1 of 1"}},
		{[]string{"OPLEDGER_TOLERANCE=0s"}, []string{"OPLEDGER_TOLERANCE: it must be a duration longer than zero"}},
		{[]string{"OPLEDGER_TOLERANCE=-5m"}, []string{"OPLEDGER_TOLERANCE: it must be a duration longer than zero"}},
		{[]string{"OPLEDGER_TOLERANCE=soon"}, []string{"OPLEDGER_TOLERANCE: "}},
		{[]string{"OPLEDGER_WEBHOOK_TIMEOUT=0s"},
			[]string{"OPLEDGER_WEBHOOK_TIMEOUT: it must be longer than zero and shorter than 1m0s"}},
		{[]string{"OPLEDGER_WEBHOOK_TIMEOUT=-1s"}, []string{"OPLEDGER_WEBHOOK_TIMEOUT: it must be longer than zero"}},
		{[]string{"OPLEDGER_WEBHOOK_TIMEOUT=60s"}, []string{"OPLEDGER_WEBHOOK_TIMEOUT: it must be longer than zero"}},
		{[]string{"OPLEDGER_WEBHOOK_TIMEOUT=10"}, []string{"OPLEDGER_WEBHOOK_TIMEOUT: "}},
		{[]string{"OPLEDGER_WEBHOOK_ISSUER=i"},
			[]string{"OPLEDGER_WEBHOOK_ISSUER: it counts only with OPLEDGER_WEBHOOK_AUDIENCE"}},
		{[]string{"OPLEDGER_JWKS_URL=http://example.com/keys"},
			[]string{"OPLEDGER_JWKS_URL: it must be an https URL: plain http is for the loopback"}},
		{[]string{"OPLEDGER_JWKS_URL=https://user:hunter2@example.com/keys"},
			[]string{"OPLEDGER_JWKS_URL: it must be an https URL with a host, and without a user"}},
		{[]string{"OPLEDGER_JWKS_URL=https:///keys"}, []string{"OPLEDGER_JWKS_URL: it must be an https URL with a host"}},
		{[]string{"OPLEDGER_JWKS_URL=file:///keys"}, []string{"OPLEDGER_JWKS_URL: it must be an https URL with a host"}},
		{[]string{"OPLEDGER_JWKS_URL=keys.json"}, []string{"OPLEDGER_JWKS_URL: it must be an https URL with a host"}},
		{[]string{"OPLEDGER_JWKS_URL=https://%zz"}, []string{"OPLEDGER_JWKS_URL: it must be an https URL with a host"}},
		{[]string{"OPLEDGER_CONFIRM=sometimes"},
			[]string{`OPLEDGER_CONFIRM: it must be never, dynamic or always, not "sometimes"`}},
		{[]string{"OPLEDGER_CONFIRM=always"}, []string{"GEMINI_API_KEY: it is not set"}},
		{[]string{"OPLEDGER_WEBHOOK_AUDIENCE=a"}, []string{"GEMINI_API_KEY: it is not set"}},
		{[]string{"OPLEDGER_WEBHOOK_AUDIENCE=a", "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=hunter2"},
			[]string{"GOOGLE_GEMINI_BASE_URL: "}},
		// all at once
		{[]string{"OPLEDGER_WEBHOOK_ISSUER=i", "OPLEDGER_CONFIRM=x", "OPLEDGER_TOLERANCE=0s", "OPLEDGER_WEBHOOK_SECRET=x"},
			[]string{"OPLEDGER_WEBHOOK_SECRET: ", "OPLEDGER_CONFIRM: ", "OPLEDGER_TOLERANCE: ", "OPLEDGER_WEBHOOK_ISSUER: "}},
	} {
		_, err := config.Parse[delivered](c.set)
		problems := diag.Split(err)
		if len(problems) != len(c.says) {
			t.Errorf("%q: %d problems, want %d: %v", c.set, len(problems), len(c.says), err)
			continue
		}
		for i, begin := range c.says {
			if !strings.HasPrefix(problems[i].Error(), begin) {
				t.Errorf("%q: %q, want %q", c.set, problems[i], begin)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: a secret is in %v", c.set, err)
		}
	}
}

// TestWebhookWithoutLookUps: where no delivery can be unverified, Gemini's settings are not
// checked.
func TestWebhookWithoutLookUps(t *testing.T) {
	t.Parallel()
	for _, set := range [][]string{nil, {"OPLEDGER_CONFIRM=never", "OPLEDGER_WEBHOOK_AUDIENCE=a"}} {
		if _, err := config.Parse[delivered](append(set, "GOOGLE_GEMINI_BASE_URL=nonsense")); err != nil {
			t.Errorf("%q: %v", set, err)
		}
	}
}

// TestReportedOnce: a problem that two groups find in one variable is reported once.
func TestReportedOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Parse[struct {
		Webhook config.Webhook
		Gemini  config.Gemini
	}]([]string{"OPLEDGER_CONFIRM=always", "GOOGLE_GEMINI_BASE_URL=x"})
	if problems := diag.Split(err); len(problems) != 2 {
		t.Errorf("%d problems, want 2: %v", len(problems), err)
	}
}
