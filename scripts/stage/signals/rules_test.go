package signals

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/opledger/opledger/test/harness"
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

// TestDurations: Prometheus's own tool computes that each alert fires, with the windows that users load, a minute after
// more of its lines than it allows, and not after as many; and that it ends once the last of them is out of the window.
func TestDurations(t *testing.T) {
	t.Parallel()
	promtool := harness.Program(t, "promtool", "the durations of the alerts for Prometheus are not tested")
	type series struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	type alerts struct {
		At   string           `yaml:"eval_time"`
		Name string           `yaml:"alertname"`
		Want []map[string]any `yaml:"exp_alerts"`
	}
	type unit struct {
		Interval string   `yaml:"interval"`
		Series   []series `yaml:"input_series"`
		Alerts   []alerts `yaml:"alert_rule_test"`
	}
	byName := map[string]Signal{}
	for _, s := range read(t) {
		byName[s.Name] = s
	}
	const interval = 5 * time.Minute
	made := map[string]rule{}
	for _, r := range rules(read(t), interval) {
		made[r.Alert] = r
	}
	at := func(minutes int, s Signal, fires bool) alerts {
		r, want := made[s.AlertName()], []map[string]any{}
		if fires {
			want = append(want, map[string]any{"exp_labels": r.Labels, "exp_annotations": r.Annotations})
		}
		return alerts{fmt.Sprintf("%dm", minutes), s.AlertName(), want}
	}
	dir, files := t.TempDir(), []string{"test", "rules"}
	write := func(name string, content any) {
		text, err := yaml.Marshal(content)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range read(t) {
		if s.Alert == nil || s.Job != "" || s.Alert.Prometheus != "" {
			continue
		}
		var units []unit
		window := int(s.Alert.window(interval) / time.Minute)
		for _, more := range []int{0, 1} { // in the tenth minute there are so many more than allowed
			count := s.Alert.Count + more
			if more == 1 {
				count = max(count, s.Alert.Least)
			}
			values := fmt.Sprintf("0x9 %dx%d", count, window+20)
			u := unit{"1m", []series{{s.Counter(), values}}, []alerts{
				at(9, s, false), at(12, s, more == 1), at(10+window+2, s, false),
			}}
			for _, other := range []string{s.Alert.AllOf, s.Alert.While} {
				if other != "" {
					u.Series = append(u.Series, series{byName[other].Counter(), values})
				}
			}
			units = append(units, u)
		}
		if s.Alert.When == "absent" { // one pass every five minutes for an hour, none for an hour, and some again
			units = []unit{{"5m", []series{{s.Counter(), "0+1x12 12x12 13x6"}},
				[]alerts{at(30, s, false), at(60, s, false), at(60+window+3, s, true), at(133, s, false)}}}
		}
		one := map[string]any{"name": s.Name, "rules": []rule{made[s.AlertName()]}}
		write(s.Name+".rules", map[string]any{"groups": []any{one}})
		write(s.Name+".yml", map[string]any{"rule_files": []string{s.Name + ".rules"}, "evaluation_interval": "1m",
			"tests": units})
		files = append(files, s.Name+".yml")
	}
	command := exec.CommandContext(t.Context(), promtool, files...)
	command.Dir = dir
	if out, err := command.CombinedOutput(); err != nil || len(files) < 30 {
		t.Errorf("%q: %v: %s", files, err, out)
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
