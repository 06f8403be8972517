package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

// TestInstance: what the platform gives a process has the defaults of both deployments, and each
// value must be possible.
func TestInstance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  []string
		want config.Instance
		says string
	}{
		{nil, config.Instance{Slots: 20, Timeout: 9 * time.Minute}, ""},
		{[]string{"OPLEDGER_EFFECTS_SLOTS=1", "OPLEDGER_EFFECTS_TIMEOUT=60s"},
			config.Instance{Slots: 1, Timeout: time.Minute}, ""},
		{[]string{"OPLEDGER_EFFECTS_SLOTS=0"}, config.Instance{}, "OPLEDGER_EFFECTS_SLOTS: it must be at least 1"},
		{[]string{"OPLEDGER_EFFECTS_TIMEOUT=0s"}, config.Instance{}, "OPLEDGER_EFFECTS_TIMEOUT: it must be a duration"},
		{[]string{"OPLEDGER_EFFECTS_TIMEOUT=540"}, config.Instance{}, "OPLEDGER_EFFECTS_TIMEOUT: "},
		{[]string{`OPLEDGER_EFFECTS=[{name: a, on: [FAILED], do: http, urlSecret: "env:CRM_URL"}]`}, config.Instance{},
			`OPLEDGER_EFFECTS: effect "a": a deployed function has no variable for env:CRM_URL`},
	} {
		got, err := config.Parse[struct {
			Ledger   config.Ledger
			Instance config.Instance
		}](c.set)
		switch {
		case c.says == "" && (err != nil || got.Instance != c.want):
			t.Errorf("%q: %+v, %v", c.set, got, err)
		case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%q: %v, want %s", c.set, err, c.says)
		}
	}
}

// TestHandlers: effects are signed with secrets or with one named secret, and no error repeats a
// secret.
func TestHandlers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  []string
		says []string // of each problem
	}{
		{nil, nil},
		{[]string{"OPLEDGER_EFFECTS_PAUSED=true", "OPLEDGER_EFFECT_SECRET=" + secret}, nil},
		{[]string{"OPLEDGER_EFFECT_SECRET= " + secret + "\n" + secret}, nil},
		{[]string{"OPLEDGER_EFFECT_SECRET=projects/p/secrets/effects"}, nil},
		{[]string{"OPLEDGER_EFFECT_SECRET= \n"}, []string{"OPLEDGER_EFFECT_SECRET: it is blank"}},
		{[]string{"OPLEDGER_EFFECT_SECRET=hunter2"}, []string{"OPLEDGER_EFFECT_SECRET: "}},
		{[]string{"OPLEDGER_EFFECT_SECRET=whsec_ " + secret + " whsec_aHVudGVyMg=="},
			[]string{"secret 1 of 3", "secret 3 of 3"}},
		{[]string{"OPLEDGER_EFFECT_SECRET=projects/p/secrets/effects/versions/1"}, []string{"OPLEDGER_EFFECT_SECRET: "}},
		{[]string{"OPLEDGER_EFFECT_SECRET=projects/p/secrets/effects " + secret}, []string{"one name of a secret"}},
		{[]string{"OPLEDGER_EFFECT_SECRET=" + secret + " projects/p/secrets/effects"}, []string{"secret 2 of 2"}},
		{[]string{"OPLEDGER_EFFECTS_PAUSED=perhaps"}, []string{"OPLEDGER_EFFECTS_PAUSED: "}},
	} {
		got, err := config.Parse[struct{ Handlers config.Handlers }](c.set)
		problems := diag.Split(err)
		if len(problems) != len(c.says) {
			t.Errorf("%q: %v", c.set, err)
			continue
		}
		for i, problem := range problems {
			text := problem.Error()
			if !strings.Contains(text, c.says[i]) || !strings.HasPrefix(text, "OPLEDGER_") ||
				strings.Contains(text, "hunter2") || strings.Contains(text, secret) {
				t.Errorf("%q: %v, want it to say %s", c.set, problem, c.says[i])
			}
		}
		if len(c.set) == 2 && (!got.Handlers.Paused || !slices.Equal(got.Handlers.Secret.Values, []string{secret})) {
			t.Errorf("%+v", got)
		}
	}
}
