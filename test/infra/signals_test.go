package infra_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A signal is an entry of signals.json: what is counted in the log, and when an alert fires.
type signal struct {
	Name      string           `json:"name"`
	Title     string           `json:"title"`
	Functions []string         `json:"functions"` // whose lines count,
	Job       string           `json:"job"`       // or the scheduler job whose failed calls do
	Where     map[string][]any `json:"where"`     // the field of a line must be one of these
	Label     string           `json:"label"`     // the field that the chart is broken down by
	About     string           `json:"about"`
	Alert     *alert           `json:"alert"` // nil: a chart only
}

type alert struct {
	Title     string `json:"title"`
	When      string `json:"when"`      // "above" Count in the window, or "absent" from it
	Count     int    `json:"count"`     // of "above"
	AllOf     string `json:"all-of"`    // a signal that must count nothing else in the window; empty for none
	While     string `json:"while"`     // a signal that must have counted something in it, too
	Intervals int    `json:"intervals"` // the window: so many intervals of the schedule,
	Minutes   int    `json:"minutes"`   // or so many minutes
	Severity  string `json:"severity"`
	Playbook  string `json:"playbook"`

	Share float64 `json:"share"` // of AllOf: more than this share of it is enough, not all;
	Least int     `json:"least"` // and AllOf must have counted at least so many

	Prometheus string `json:"prometheus"` // the expression of its alert, where serve prints no line of the signal
	// with Prometheus: what that means, in place of Title and About
	PrometheusTitle string `json:"prometheus-title"`
	PrometheusAbout string `json:"prometheus-about"`
}

// fires reports whether the alert of a signal fires on what was counted in one window.
func (s signal) fires(counted map[string]int) bool {
	a := s.Alert
	if a == nil || a.When != "above" || counted[s.Name] <= a.Count || a.While != "" && counted[a.While] == 0 {
		return false
	}
	all := counted[a.AllOf]
	if a.Share > 0 {
		return all >= a.Least && float64(counted[s.Name]) > a.Share*float64(all)
	}
	return a.AllOf == "" || counted[s.Name] == all
}

// A measure is an entry of platform.json: what Google Cloud itself measures, and its limit.
type measure struct {
	Name     string            `json:"name"`
	Title    string            `json:"title"`
	Unit     string            `json:"unit"`
	Metric   string            `json:"metric"`
	Resource string            `json:"resource"`
	Where    map[string]string `json:"where"` // by label of the resource, without the prefix
	Aligner  string            `json:"aligner"`
	Alert    *struct {
		Title    string `json:"title"`
		Above    int    `json:"above"`
		Severity string `json:"severity"`
		Playbook string `json:"playbook"`
	} `json:"alert"`
}

// TestEveryAlertInTheLogHasAPolicy: every line with event=alert has an alert policy.
func TestEveryAlertInTheLogHasAPolicy(t *testing.T) {
	t.Parallel()
	signals := readTable[[]signal](t, "signals.json")
	reasons := alertReasons(t)
	if len(reasons) == 0 {
		t.Error("no line has event=alert: has the form of the log calls changed?")
	}
	for _, reason := range reasons {
		if !slices.ContainsFunc(signals, func(s signal) bool {
			return s.Alert != nil && slices.Contains(s.Where["event"], any("alert")) && slices.Contains(s.Where["reason"],
				any(reason))
		}) {
			t.Errorf("signals.json has no alert on event=alert reason=%s", reason)
		}
	}
}

// TestAlertsHavePlaybooks: each alert has a playbook of its own, each playbook an alert, and the
// table is consistent.
func TestAlertsHavePlaybooks(t *testing.T) {
	t.Parallel()
	playbooks := map[string]bool{"webhook-unreachable.md": true, "restored.md": true} // no line is counted for either
	names := map[string]bool{}
	for _, m := range readTable[[]measure](t, "platform.json") {
		if names[m.Name] {
			t.Errorf("%s is listed twice", m.Name)
		}
		names[m.Name] = true
		if m.Alert == nil {
			continue
		}
		if playbooks[m.Alert.Playbook] || !slices.Contains([]string{"WARNING", "ERROR", "CRITICAL"}, m.Alert.Severity) ||
			m.Alert.Title == "" {
			t.Errorf("%s: %+v is not an alert with a playbook of its own", m.Name, *m.Alert)
		}
		playbooks[m.Alert.Playbook] = true
	}
	for _, s := range readTable[[]signal](t, "signals.json") {
		if names[s.Name] || s.Name == "" || s.Title == "" || s.About == "" ||
			s.Job == "" && (len(s.Functions) == 0 || len(s.Where) == 0) {
			t.Errorf("%q: a name of its own, a title, what it is about, functions and words are needed", s.Name)
		}
		names[s.Name] = true
		a := s.Alert
		if a == nil {
			continue
		}
		if playbooks[a.Playbook] {
			t.Errorf("%s: %q is the playbook of another alert", s.Name, a.Playbook)
		}
		playbooks[a.Playbook] = true
		if (a.Intervals > 0) == (a.Minutes > 0) {
			t.Errorf("%s: the window is so many intervals or so many minutes", s.Name)
		}
		if a.When != "above" && a.When != "absent" || a.Title == "" || !slices.Contains([]string{"WARNING", "ERROR",
			"CRITICAL"}, a.Severity) {
			t.Errorf("%s: %+v is not an alert", s.Name, *a)
		}
	}
	files, err := os.ReadDir(filepath.Join(root, "infra", "playbooks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := file.Name(); filepath.Ext(name) == ".md" && name != "README.md" && !playbooks[name] { // which is the index
			t.Errorf("%s is the playbook of no alert", file.Name())
		}
		delete(playbooks, file.Name())
	}
	for name := range playbooks {
		t.Errorf("there is no playbook %s", name)
	}
}

// TestWindows: for every schedule, Cloud Monitoring accepts the windows that alerts.tf makes: whole
// minutes, at most 25 h for counts, 3 minutes to 23.5 h for absence. Absence means at least two
// missing passes.
func TestWindows(t *testing.T) {
	t.Parallel()
	for _, interval := range intervals(t) {
		for _, s := range readTable[[]signal](t, "signals.json") {
			if s.Alert == nil {
				continue
			}
			window := time.Duration(s.Alert.Minutes) * time.Minute
			if s.Alert.Intervals > 0 {
				window = time.Duration(s.Alert.Intervals) * interval
			}
			window = max(5*time.Minute, window)
			absent := s.Alert.When == "absent"
			if window > 25*time.Hour || absent && (window > 23*time.Hour+30*time.Minute || s.Alert.Intervals < 2) {
				t.Errorf("%s: with passes every %v it looks at %v", s.Name, interval, window)
			}
		}
	}
}

// intervals are those that a deployment may have, as Terraform's variable lists them.
func intervals(t *testing.T) (all []time.Duration) {
	t.Helper()
	list := regexp.MustCompile(`contains\(\[(.*)\], var\.interval\)`).FindStringSubmatch(terraform(t))
	if list == nil {
		t.Fatal("Terraform's variable interval has no list of what it may be")
	}
	for text := range strings.SplitSeq(list[1], ", ") {
		interval, err := time.ParseDuration(strings.Trim(text, `"`))
		if err != nil || interval%time.Minute != 0 || time.Hour%interval != 0 {
			t.Fatalf("no schedule has an interval of %s", text)
		}
		all = append(all, interval)
	}
	return all
}

// alertReasons returns the reasons in the log calls with event=alert, as far as the source shows
// them.
func alertReasons(t *testing.T) []string {
	t.Helper()
	var reasons []string
	for _, file := range append(parse(t, "functions"), parse(t, "shared")...) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			words := map[string]string{}
			for i := 0; i+1 < len(call.Args); i++ {
				words[literal(call.Args[i])] = literal(call.Args[i+1])
			}
			if words["event"] == "alert" && words["reason"] != "" {
				reasons = append(reasons, words["reason"])
			}
			return true
		})
	}
	return reasons
}

// literal returns the text of a string literal; empty for any other expression.
func literal(expression ast.Expr) string {
	basic, ok := expression.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(basic.Value)
	if err != nil {
		return ""
	}
	return text
}
