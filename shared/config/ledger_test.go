package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
)

// TestFile: @FILE is replaced by the content of the file.
func TestFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "effects.yaml")
	if err := os.WriteFile(file, []byte("- name: fromfile\n  on: [SUCCEEDED]\n  do: log\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type settings struct{ Ledger config.Ledger }
	got, err := config.Parse[settings]([]string{"OPLEDGER_EFFECTS=@" + file})
	if err != nil || len(got.Ledger.Effects) != 1 || got.Ledger.Effects[0].Name != "fromfile" {
		t.Errorf("%+v %v", got.Ledger.Effects, err)
	}
	_, err = config.Parse[settings]([]string{"OPLEDGER_EFFECTS=@" + file + ".not"})
	if err == nil || !strings.HasPrefix(err.Error(), "OPLEDGER_EFFECTS: ") || !strings.Contains(err.Error(), file+".not") {
		t.Errorf("%v", err)
	}
}

// TestTransitionsAndEffects: problems that only the two settings together cause are found.
func TestTransitionsAndEffects(t *testing.T) {
	t.Parallel()
	_, err := config.Parse[struct{ Ledger config.Ledger }]([]string{
		"OPLEDGER_EFFECTS=[{name: a, on: [SUCCEEDED, FAILED], do: log}]", "OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED:FAILED",
	})
	if err == nil || !strings.HasPrefix(err.Error(), "OPLEDGER_EFFECTS: ") ||
		!strings.Contains(err.Error(), "once per operation") {
		t.Errorf("%v", err)
	}
	// So with the default effect, which runs on every end.
	_, err = config.Parse[struct{ Ledger config.Ledger }]([]string{"OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED:FAILED"})
	if err == nil {
		t.Error("the default effect and an allowed transition: no error, and the ledger refuses the settings later")
	}
}

// TestLookupMaxInterval: the longest time between two look-ups is at least the interval. Unset, it
// is an hour, or the interval where that is longer.
func TestLookupMaxInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set  []string
		want time.Duration
		err  string
	}{
		{nil, time.Hour, ""},
		{[]string{"OPLEDGER_INTERVAL=2h"}, 2 * time.Hour, ""},
		{[]string{"OPLEDGER_LOOKUP_MAX_INTERVAL=5m"}, 5 * time.Minute, ""},
		{[]string{"OPLEDGER_LOOKUP_MAX_INTERVAL=4m"}, 0,
			"OPLEDGER_LOOKUP_MAX_INTERVAL: it must be at least the interval, and 4m0s is shorter than 5m0s"},
		{[]string{"OPLEDGER_LOOKUP_MAX_INTERVAL=0s"}, 0,
			"OPLEDGER_LOOKUP_MAX_INTERVAL: it must be at least the interval, and 0s is shorter than 5m0s"},
		{[]string{"OPLEDGER_INTERVAL=2h", "OPLEDGER_LOOKUP_MAX_INTERVAL=1h"}, 0,
			"OPLEDGER_LOOKUP_MAX_INTERVAL: it must be at least the interval, and 1h0m0s is shorter than 2h0m0s"},
	} {
		got, err := config.Parse[struct{ Ledger config.Ledger }](c.set)
		switch {
		case c.err == "" && (err != nil || got.Ledger.Settings().LookupMaxInterval != c.want):
			t.Errorf("%v: %v, %v, want %v", c.set, got.Ledger.Settings().LookupMaxInterval, err, c.want)
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%v: %v, want %s", c.set, err, c.err)
		}
	}
}
