package config_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// everything has most of the groups that there are.
type everything struct {
	Project  config.Project
	Place    config.Place
	Ledger   config.Ledger
	Webhook  config.Webhook
	Gemini   config.Gemini
	Handlers config.Handlers
	Port     config.Port
}

// TestDefaults: with nothing set the figures are those of the rules, and the rest as documented
// [R7, S5].
func TestDefaults(t *testing.T) {
	t.Parallel()
	settings, err := config.Parse[struct {
		Ledger   config.Ledger
		Webhook  config.Webhook
		Handlers config.Handlers
		Port     config.Port
	}](nil)
	if err != nil {
		t.Fatal(err)
	}
	got := settings.Ledger.Settings()
	want := ledger.DefaultSettings()
	want.Rules = spec.Rules(kinds.Default())
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b operation.Transitions) bool {
		return !a.Allow(operation.Succeeded, operation.Failed) && !b.Allow(operation.Succeeded, operation.Failed)
	}), cmp.Comparer(func(a, b job.Prices) bool { return a.String() == b.String() })); diff != "" {
		t.Errorf("settings, -want +got\n%s", diff)
	}
	if got.Interval != 300*time.Second || got.Grace != 90*time.Second || got.StuckAfter != 6*time.Hour ||
		got.BatchStuckAfter != 24*time.Hour ||
		got.Retention != 14*24*time.Hour || got.ResultsKept != 1008*time.Hour ||
		got.ClaimTTL != 600*time.Second {
		t.Errorf("the figures are %+v", got)
	}
	if settings.Webhook.Tolerance != 5*time.Minute || settings.Webhook.Timeout != 10*time.Second ||
		settings.Handlers.AllowPrivate || settings.Port.Number != 8080 {
		t.Errorf("%+v", settings)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// TestLedgerProblemsNameTheirVariables: each problem that the ledger finds in a setting is told by the
// variable that the setting is read from.
func TestLedgerProblemsNameTheirVariables(t *testing.T) {
	t.Parallel()
	none := ledger.Settings{LookupMaxInterval: -1, RetryFor: -1}
	for _, problem := range diag.Split(none.Validate()) {
		var found ledger.SettingProblem
		if !errors.As(problem, &found) {
			t.Errorf("%v is of no setting", problem)
			continue
		}
		field, ok := reflect.TypeFor[config.Ledger]().FieldByName(found.Field)
		if !ok || field.Tag.Get("env") == "" {
			t.Errorf("%v: config.Ledger reads no %s from a variable", problem, found.Field)
		}
	}
}

// TestAllSet: every variable sets its own setting.
func TestAllSet(t *testing.T) {
	t.Parallel()
	settings, err := config.Parse[everything]([]string{
		"GOOGLE_CLOUD_PROJECT=p", "OPLEDGER_STORE=sqlite:x=y.db", "OPLEDGER_GRACE=1s", "OPLEDGER_INTERVAL=2m",
		"OPLEDGER_STUCK_AFTER=3h", "OPLEDGER_LOOKUP_MAX_INTERVAL=5h",
		"OPLEDGER_ALERT_EVERY=4h", "OPLEDGER_RETENTION=50h", "OPLEDGER_CLAIM_TTL=6m", "OPLEDGER_MAX_ATTEMPTS=7",
		"OPLEDGER_RETRY_FOR=0", "OPLEDGER_RESULTS_KEPT=11h", "OPLEDGER_ENQUEUED_TOKENS= models/b=2\ta=1 ",
		"OPLEDGER_PRICES=m=1/2",
		"OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: log}]",
		"OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED:FAILED EXPIRED:SUCCEEDED",
		"OPLEDGER_WEBHOOK_SECRET= " + secret + "\n" + secret + " ", "OPLEDGER_TOLERANCE=8m", "OPLEDGER_WEBHOOK_TIMEOUT=9s",
		"GEMINI_API_KEY=k",
		"GOOGLE_GEMINI_BASE_URL=http://localhost:1", "OPLEDGER_EFFECT_ALLOW_PRIVATE=true", "PORT=9", "UNRELATED", "=odd",
		"OTHER=x",
	})
	if err != nil {
		t.Fatal(err)
	}
	l := settings.Ledger.Settings()
	if settings.Project.ID != "p" || settings.Place.Store.String() != "sqlite:x=y.db" || l.Grace != time.Second ||
		l.Interval != 2*time.Minute || l.LookupMaxInterval != 5*time.Hour ||
		l.StuckAfter != 3*time.Hour || l.BatchStuckAfter != 0 || l.AlertEvery != 4*time.Hour || l.Retention != 50*time.Hour ||
		l.ClaimTTL != 6*time.Minute || l.MaxAttempts != 7 || l.RetryFor != 0 || l.ResultsKept != 11*time.Hour ||
		l.EnqueuedTokens.String() != "a=1 b=2" ||
		l.Prices.Of("m") == nil ||
		len(l.Rules) != 1 || l.Rules[0].Name != "a" || !l.Transitions.Allow(operation.Expired, operation.Failed) ||
		len(settings.Webhook.Secrets.Values) != 2 || settings.Webhook.Tolerance != 8*time.Minute ||
		settings.Webhook.Timeout != 9*time.Second || settings.Gemini.APIKey != "k" ||
		settings.Gemini.BaseURL != "http://localhost:1" || !settings.Handlers.AllowPrivate || settings.Port.Number != 9 {
		t.Errorf("%+v", settings)
	}
}

// TestProblems: all problems are reported at once, each once and beginning with its variable.
func TestProblems(t *testing.T) {
	t.Parallel()
	_, err := config.Parse[everything]([]string{
		"OPLEDGER_GRACE=soon", "OPLEDGER_INTERVAL=0s", "OPLEDGER_STUCK_AFTER=-1h", "OPLEDGER_ALERT_EVERY=5",
		"OPLEDGER_RETENTION=14d",
		"OPLEDGER_CLAIM_TTL=-1s", "OPLEDGER_MAX_ATTEMPTS=many", "OPLEDGER_RETRY_FOR=-1s", "OPLEDGER_RESTORED_AT=yesterday",
		"OPLEDGER_EFFECTS=[{name: A, on: [], do: mail}, {name: b, on: [DONE], do: log}, {name: b, on: [FAILED], do: http}]",
		"OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED RUNNING:FAILED",
		"OPLEDGER_WEBHOOK_SECRET=whsec_ whsec_x topsecret", "OPLEDGER_TOLERANCE=0s", "GOOGLE_GEMINI_BASE_URL=topsecret",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=perhaps", "PORT=http",
	})
	if err == nil {
		t.Fatal("no error")
	}
	got := map[string]int{}
	for _, problem := range diag.Split(err) {
		variable, text, ok := strings.Cut(problem.Error(), ": ")
		if !ok || strings.Contains(text, "\n") {
			t.Errorf("%q is not one problem of one variable", problem)
		}
		got[variable]++
	}
	want := map[string]int{
		"OPLEDGER_GRACE": 1, "OPLEDGER_INTERVAL": 1, "OPLEDGER_STUCK_AFTER": 1, "OPLEDGER_ALERT_EVERY": 1,
		"OPLEDGER_RETENTION": 1,
		"OPLEDGER_CLAIM_TTL": 1, "OPLEDGER_MAX_ATTEMPTS": 1, "OPLEDGER_RETRY_FOR": 1, "OPLEDGER_RESTORED_AT": 1,
		// do twice, url or name twice, a bad name, no state, an unknown state, a name used twice
		"OPLEDGER_EFFECTS":              6,
		"OPLEDGER_TERMINAL_TRANSITIONS": 2, "OPLEDGER_WEBHOOK_SECRET": 3, "OPLEDGER_TOLERANCE": 1, "GEMINI_API_KEY": 1,
		"GOOGLE_GEMINI_BASE_URL": 1, "OPLEDGER_EFFECT_ALLOW_PRIVATE": 1, "PORT": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems by variable, -want +got\n%s\nin\n%v", diff, err)
	}
	if strings.Contains(err.Error(), "topsecret") {
		t.Errorf("a secret is in %v", err)
	}
}

// TestSecretsStaySecret: no form of a malformed secret is repeated in an error.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	for _, variables := range [][]string{
		{"OPLEDGER_WEBHOOK_SECRET=hunter2"},
		{"OPLEDGER_WEBHOOK_SECRET=whsec_hunter2"},
		{"OPLEDGER_WEBHOOK_SECRET=whsec_aHVudGVyMg=="},
		{"OPLEDGER_WEBHOOK_SECRET=" + secret + " hunter2"},
		{"GEMINI_API_KEY=hunter2 hunter2"},
		{"GEMINI_API_KEY=hunter2\u00e9"},
		{"OPLEDGER_EFFECTS=[{name: a, on: [FAILED], do: http, url: \"https://user:hunter2@example.com/\", nmae: b}]"},
		{"OPLEDGER_EFFECTS=- name: a\n  on: [FAILED]\n  url: https://user:hunter2@example.com/\n  do: {}\n"},
	} {
		_, err := config.Parse[everything](append([]string{"GEMINI_API_KEY=k"}, variables...))
		if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "aHVudGVyMg") {
			t.Errorf("%s: %v", variables, err)
		}
	}
}

// TestEmpty: an empty variable counts as not set.
func TestEmpty(t *testing.T) {
	t.Parallel()
	var set []string
	for _, name := range []string{
		"GOOGLE_CLOUD_PROJECT", "OPLEDGER_STORE", "OPLEDGER_GRACE", "OPLEDGER_MAX_ATTEMPTS", "OPLEDGER_EFFECTS",
		"OPLEDGER_TERMINAL_TRANSITIONS",
		"OPLEDGER_WEBHOOK_SECRET", "OPLEDGER_TOLERANCE", "OPLEDGER_EFFECT_ALLOW_PRIVATE", "PORT", "GOOGLE_GEMINI_BASE_URL",
	} {
		set = append(set, name+"=")
	}
	got, err := config.Parse[everything](append(set, "GEMINI_API_KEY=k"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.Parse[everything]([]string{"GEMINI_API_KEY=k"})
	if err != nil {
		t.Fatal(err)
	}
	if got.Ledger.Grace != want.Ledger.Grace || got.Ledger.MaxAttempts != want.Ledger.MaxAttempts ||
		!cmp.Equal(got.Webhook, want.Webhook) ||
		len(got.Ledger.Effects) != 1 || got.Port != want.Port || !cmp.Equal(got.Handlers, want.Handlers) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, err := config.Parse[everything]([]string{"GEMINI_API_KEY="}); err == nil ||
		!strings.HasPrefix(err.Error(), "GEMINI_API_KEY: it is not set") {
		t.Errorf("%v", err)
	}
}

// TestUnused: groups that a function does not use are neither read nor checked.
func TestUnused(t *testing.T) {
	t.Parallel()
	if _, err := config.Parse[struct{ Port config.Port }]([]string{
		"OPLEDGER_GRACE=soon", "OPLEDGER_WEBHOOK_SECRET=x", "OPLEDGER_EFFECTS=x", "PORT=1",
	}); err != nil {
		t.Error(err)
	}
}
