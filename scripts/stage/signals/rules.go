package signals

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// playbooksURL is where the playbooks of alerts are.
const playbooksURL = "https://github.com/opledger/opledger/blob/main/infra/playbooks/"

// A rule is an alerting rule of Prometheus.
type rule struct {
	Alert       string      `yaml:"alert"`
	Expr        string      `yaml:"expr"`
	For         string      `yaml:"for"` // a minute, as a policy of Cloud Monitoring waits
	Labels      labels      `yaml:"labels"`
	Annotations annotations `yaml:"annotations"`
}

type labels struct {
	Severity string `yaml:"severity"` // critical, error or warning
}

type annotations struct {
	Summary     string `yaml:"summary"`
	Description string `yaml:"description"`
	Runbook     string `yaml:"runbook_url"`
}

// rulesHead says what the file is, for who finds it in Prometheus's folder.
const rulesHead = `# Alerts of opledger serve for Prometheus, for passes every %s. They say the same as the policies on
# Google Cloud: both are made of infra/signals.json. A process prints those for its own interval:
#   curl http://127.0.0.1:9464/alerts.yml
`

// Rules returns the alert rules of the table as a rule file of Prometheus, for processes that make a pass once in
// every interval. A signal that only Google's scheduler reports has none.
func Rules(table []Signal, interval time.Duration) ([]byte, error) {
	type group struct {
		Name  string `yaml:"name"`
		Rules []rule `yaml:"rules"`
	}
	file := struct {
		Groups []group `yaml:"groups"`
	}{[]group{{"opledger", rules(table, interval)}}}
	text, err := yaml.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encoding the alert rules: %w", err)
	}
	return append(fmt.Appendf(nil, rulesHead, short(interval)), text...), nil
}

func rules(table []Signal, interval time.Duration) (rules []rule) {
	byName := map[string]Signal{}
	for _, s := range table {
		byName[s.Name] = s
	}
	for _, s := range table {
		if s.Alert == nil || s.Job != "" {
			continue
		}
		rules = append(rules, rule{
			Alert: s.AlertName(), Expr: s.expression(byName, interval), For: "1m",
			Labels: labels{strings.ToLower(s.Alert.Severity)},
			Annotations: annotations{
				Summary:     "opledger: " + cmp.Or(s.Alert.PrometheusTitle, s.Alert.Title),
				Description: cmp.Or(s.Alert.PrometheusAbout, s.About), Runbook: playbooksURL + s.Alert.Playbook,
			},
		})
	}
	return rules
}

// Counter is the name of the metric that counts the lines of the signal in one process of serve.
func (s Signal) Counter() string {
	return "opledger_signal_" + strings.ReplaceAll(s.Name, "-", "_") + "_total"
}

// AlertName is what Prometheus calls the signal's alert, after its playbook: OpledgerEffectsDead.
func (s Signal) AlertName() string {
	name := "Opledger"
	for word := range strings.SplitSeq(strings.TrimSuffix(s.Alert.Playbook, ".md"), "-") {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// expression is true while the signal's alert fires. Prometheus extrapolates an increase to the ends of its window:
// rounding makes a whole number of it again.
func (s Signal) expression(table map[string]Signal, interval time.Duration) string {
	a := s.Alert
	if a.Prometheus != "" {
		return a.Prometheus
	}
	window := short(a.window(interval))
	counted := func(s Signal) string { return fmt.Sprintf("sum(increase(%s[%s]))", s.Counter(), window) }
	if a.When == "absent" { // of processes that were there when the window began
		return fmt.Sprintf("round(%s) < 1 and sum(%s offset %s) >= 0", counted(s), s.Counter(), window)
	}
	parts := []string{fmt.Sprintf("round(%s) > %d", counted(s), a.Count)}
	if a.AllOf != "" {
		share := 0.99
		if a.Share > 0 {
			share = a.Share
		}
		parts = append(parts, fmt.Sprintf("%s > %g * %s", counted(s), share, counted(table[a.AllOf])))
	}
	if a.Least > 0 {
		parts = append(parts, fmt.Sprintf("round(%s) >= %d", counted(table[a.AllOf]), a.Least))
	}
	if a.While != "" {
		parts = append(parts, fmt.Sprintf("round(%s) > 0", counted(table[a.While])))
	}
	return strings.Join(parts, " and ")
}

// short writes whole seconds as Prometheus does: 15m, 2h, 90s.
func short(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return fmt.Sprintf("%ds", (d+time.Second-1)/time.Second)
	}
}
