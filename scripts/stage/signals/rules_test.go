package signals

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRules: the file that users load has the rules of the table, for the default interval.
func TestRules(t *testing.T) {
	t.Parallel()
	rules, err := Rules(read(t), 5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(infra, "prometheus", "alerts.yml")
	if *update {
		if err := os.WriteFile(file, rules, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if there, err := os.ReadFile(file); err != nil || !bytes.Equal(there, rules) {
		t.Errorf("infra/prometheus/alerts.yml is not made of the table (%v); if that is meant: go test "+
			"./scripts/stage/signals -update", err)
	}
	for _, s := range read(t) {
		if s.Alert != nil && s.Job == "" {
			text, err := os.ReadFile(filepath.Join(infra, "playbooks", s.Alert.Playbook))
			if both := fmt.Sprintf("Alert: `%s` on Google Cloud, `%s` in Prometheus.", s.Name,
				s.AlertName()); err != nil || !strings.Contains(string(text), both) {
				t.Errorf("%s does not say %q (%v)", s.Alert.Playbook, both, err)
			}
		}
		has := strings.Contains(string(rules), "/"+s.playbook())
		if want := s.Alert != nil && s.Job == ""; has != want {
			t.Errorf("%s: it is %v that the rules have its alert", s.Name, has)
		}
	}
}

func (s Signal) playbook() string {
	if s.Alert == nil {
		return "none.md"
	}
	return s.Alert.Playbook
}

// TestExpressions: an alert of Prometheus compares what the policy on Google Cloud does.
func TestExpressions(t *testing.T) {
	t.Parallel()
	byName := map[string]Signal{}
	for _, s := range read(t) {
		byName[s.Name] = s
	}
	for name, want := range map[string]string{
		"stuck": "round(sum(increase(opledger_signal_stuck_total[10m]))) > 0",
		"passes": "round(sum(increase(opledger_signal_passes_total[15m]))) < 1 and " +
			"sum(opledger_signal_passes_total offset 15m) >= 0",
		"refused": "round(sum(increase(opledger_signal_refused_total[1h]))) > 2 and " +
			"sum(increase(opledger_signal_refused_total[1h])) > 0.99 * sum(increase(opledger_signal_arrivals_total[1h])) and " +
			"round(sum(increase(opledger_signal_unannounced_total[1h]))) > 0",
		"undelivered": "round(sum(increase(opledger_signal_undelivered_total[12h]))) > 0 and " +
			"sum(increase(opledger_signal_undelivered_total[12h])) > 0.2 * sum(increase(opledger_signal_ends_total[12h])) and " +
			"round(sum(increase(opledger_signal_ends_total[12h]))) >= 10",
		"not-started": "absent(opledger_build_info)",
	} {
		if got := byName[name].expression(byName, 5*time.Minute); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
