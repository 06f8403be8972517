package config_test

import (
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
)

// TestResults: Gemini's settings are checked only where an effect fetches results [K4].
func TestResults(t *testing.T) {
	t.Parallel()
	const (
		perItem = "OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: log, each: item}]"
		results = "OPLEDGER_EFFECTS=[{name: b, on: [FAILED], do: log}, {name: a, on: [SUCCEEDED], do: results, " +
			"collection: reviews}]"
	)
	for _, c := range []struct {
		set    []string
		wanted bool
		says   []string // of each problem
	}{
		{nil, false, nil},
		{[]string{"GOOGLE_GEMINI_BASE_URL=nowhere"}, false, nil},
		{[]string{"OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED], do: log}]", "GEMINI_API_KEY=a b"}, false, nil},
		{[]string{perItem, "GEMINI_API_KEY=k"}, true, nil},
		{[]string{results, "OPLEDGER_GEMINI_API_KEY_SECRET=projects/p/secrets/k"}, true, nil},
		{[]string{perItem}, true, []string{"GEMINI_API_KEY: it is not set"}},
		{[]string{results, "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=nowhere"}, true, []string{"GOOGLE_GEMINI_BASE_URL: "}},
		// neither hides the other
		{[]string{"OPLEDGER_EFFECTS=[{name: a, on: [FAILED], do: log, each: item}]"}, true,
			[]string{"OPLEDGER_EFFECTS: ", "GEMINI_API_KEY: it is not set"}},
	} {
		got, err := config.Parse[struct {
			Ledger  config.Ledger
			Results config.Results
		}](c.set)
		problems := diag.Split(err)
		if len(problems) != len(c.says) || got.Results.Wanted != c.wanted {
			t.Errorf("%q: wanted %v, %v", c.set, got.Results.Wanted, err)
			continue
		}
		for i, problem := range problems {
			if !strings.HasPrefix(problem.Error(), c.says[i]) {
				t.Errorf("%q: %v, want %s", c.set, problem, c.says[i])
			}
		}
	}
}
