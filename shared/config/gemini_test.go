package config_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

type atGemini struct {
	Gemini   config.Gemini
	Endpoint config.Endpoint
}

// TestGeminiKey: exactly one of the key and its secret's name must be set. No error repeats a key.
func TestGeminiKey(t *testing.T) {
	t.Parallel()
	const full = "projects/p/secrets/key"
	for _, c := range []struct {
		set  []string
		says []string
	}{
		{[]string{"GEMINI_API_KEY=hunter2"}, nil},
		{[]string{"OPLEDGER_GEMINI_API_KEY_SECRET=" + full}, nil},
		{nil, []string{"GEMINI_API_KEY: it is not set", "OPLEDGER_GEMINI_API_KEY_SECRET"}},
		{[]string{"GEMINI_API_KEY= \t"}, []string{"GEMINI_API_KEY: it is not set"}},
		{[]string{"GEMINI_API_KEY=hunter2", "OPLEDGER_GEMINI_API_KEY_SECRET=" + full},
			[]string{"OPLEDGER_GEMINI_API_KEY_SECRET: GEMINI_API_KEY is set too"}},
		{[]string{"OPLEDGER_GEMINI_API_KEY_SECRET=hunter2"},
			[]string{"OPLEDGER_GEMINI_API_KEY_SECRET: it must be the name of a secret"}},
		{[]string{"OPLEDGER_GEMINI_API_KEY_SECRET=" + full + "/versions/latest"},
			[]string{"OPLEDGER_GEMINI_API_KEY_SECRET: ", "version"}},
		{[]string{"GEMINI_API_KEY=hunter2", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8080"}, nil},
		{[]string{"GEMINI_API_KEY=hunter2", "GOOGLE_GEMINI_BASE_URL=http://elsewhere/hunter2"},
			[]string{"GOOGLE_GEMINI_BASE_URL: it must be an https URL, because the API key is sent to it"}},
	} {
		got, err := config.Parse[atGemini](c.set)
		if (err == nil) != (c.says == nil) {
			t.Errorf("%q: %v", c.set, err)
			continue
		}
		if c.says == nil {
			if !got.Gemini.IsSet() {
				t.Errorf("%q: no key", c.set)
			}
			continue
		}
		if len(diag.Split(err)) != 1 || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", c.set, err)
		}
		for _, words := range c.says {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%q: %v does not say %q", c.set, err, words)
			}
		}
	}
	if (config.Gemini{BaseURL: "https://x"}).IsSet() {
		t.Error("a key without a key")
	}
}
