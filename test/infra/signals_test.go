package infra_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// A signal is an entry of signals.json: what is counted in the log, and when that wakes somebody.
type signal struct {
	Name      string           `json:"name"`
	Title     string           `json:"title"`
	Functions []string         `json:"functions"` // whose lines count
	Where     map[string][]any `json:"where"`     // the field of a line must be one of these
	Label     string           `json:"label"`     // the field that the chart is broken down by
	About     string           `json:"about"`
	Alert     *alert           `json:"alert"` // nil: a chart only
}

type alert struct {
	Title     string `json:"title"`
	When      string `json:"when"`      // "above" Count in the window, or "absent" from it
	Count     int    `json:"count"`     // of "above"
	Intervals int    `json:"intervals"` // the window: so many intervals of the schedule,
	Minutes   int    `json:"minutes"`   // or so many minutes
	Severity  string `json:"severity"`
	Playbook  string `json:"playbook"`
}

// TestSignalsAreInTheLog: every field and every word that a filter names is one that the code logs.
func TestSignalsAreInTheLog(t *testing.T) {
	t.Parallel()
	log := readLog(t)
	for _, s := range readTable[[]signal](t, "signals.json") {
		if len(s.Where) == 0 {
			t.Errorf("%s counts every line", s.Name)
		}
		if s.Label != "" && !log.fields[s.Label] {
			t.Errorf("%s: no line has the field %s", s.Name, s.Label)
		}
		for field, words := range s.Where {
			if !log.fields[field] {
				t.Errorf("%s: no line has the field %s", s.Name, field)
			}
			for _, word := range words {
				text, ok := word.(string)
				if ok && !log.words[text] {
					t.Errorf("%s: nothing in the code says %q", s.Name, text)
				}
				if field == "message" && !slices.Contains(log.values[field], text) {
					t.Errorf("%s: no line has the message %q", s.Name, text)
				}
			}
		}
	}
}

// TestEveryAlertInTheLogWakesSomebody: a line with event=alert says that a person should look; there must be an alert on it.
func TestEveryAlertInTheLogWakesSomebody(t *testing.T) {
	t.Parallel()
	signals := readTable[[]signal](t, "signals.json")
	reasons := readLog(t).alerts
	if len(reasons) == 0 {
		t.Error("no line has event=alert: has the form of the log calls changed?")
	}
	for _, reason := range reasons {
		if !slices.ContainsFunc(signals, func(s signal) bool {
			return s.Alert != nil && slices.Contains(s.Where["event"], any("alert")) && slices.Contains(s.Where["reason"], any(reason))
		}) {
			t.Errorf("signals.json has no alert on event=alert reason=%s", reason)
		}
	}
}

// TestAlertsHavePlaybooks: each alert has one of its own, each playbook an alert, and the table makes sense.
func TestAlertsHavePlaybooks(t *testing.T) {
	t.Parallel()
	playbooks := map[string]bool{"dead-letter.md": true, "webhook-unreachable.md": true} // of the alerts that count no log lines
	names := map[string]bool{}
	for _, s := range readTable[[]signal](t, "signals.json") {
		if names[s.Name] || s.Name == "" || s.Title == "" || s.About == "" || len(s.Functions) == 0 {
			t.Errorf("%q: a name of its own, a title, what it is about and functions are needed", s.Name)
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
		if a.When != "above" && a.When != "absent" || a.Title == "" || !slices.Contains([]string{"WARNING", "ERROR", "CRITICAL"}, a.Severity) {
			t.Errorf("%s: %+v is not an alert", s.Name, *a)
		}
	}
	files, err := os.ReadDir(filepath.Join(root, "infra", "playbooks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !playbooks[file.Name()] {
			t.Errorf("%s is the playbook of no alert", file.Name())
		}
		delete(playbooks, file.Name())
	}
	for name := range playbooks {
		t.Errorf("there is no playbook %s", name)
	}
}

// A logged is what the functions' code can write to the log, as far as its text shows.
type logged struct {
	fields map[string]bool     // the names of fields
	values map[string][]string // what stands literally behind a field in a log call
	alerts []string            // the reasons in calls with event=alert
	words  map[string]bool     // every text in the code: outcomes and reasons are constants somewhere
}

func readLog(t *testing.T) logged {
	t.Helper()
	l := logged{fields: map[string]bool{}, values: map[string][]string{}, words: map[string]bool{}}
	for _, file := range append(parse(t, "functions"), parse(t, "shared")...) {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.CallExpr:
				if selector, ok := node.Fun.(*ast.SelectorExpr); ok {
					l.call(selector.Sel.Name, node.Args)
				}
			case *ast.CompositeLit:
				l.pairs(node.Elts) // attributes that are gathered first
			case *ast.BasicLit:
				l.words[literal(node)] = true
			}
			return true
		})
	}
	return l
}

// call takes in the arguments of a call of one of slog's methods.
func (l *logged) call(method string, arguments []ast.Expr) {
	before, ok := map[string]int{ // arguments before the pairs
		"With": 0, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "Log": 3,
	}[method]
	if !ok || len(arguments) < before {
		return
	}
	if before > 0 {
		if message := literal(arguments[before-1]); message != "" {
			l.fields["message"] = true
			l.values["message"] = append(l.values["message"], message)
		}
	}
	l.pairs(arguments[before:])
}

func (l *logged) pairs(pairs []ast.Expr) {
	at := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name := literal(pairs[i])
		if name == "" {
			return // no pairs after all
		}
		value := literal(pairs[i+1])
		l.fields[name] = true
		at[name] = value
		if value != "" {
			l.values[name] = append(l.values[name], value)
		}
	}
	if at["event"] == "alert" && at["reason"] != "" {
		l.alerts = append(l.alerts, at["reason"])
	}
}

// literal returns the text that an expression literally is; empty for another.
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
