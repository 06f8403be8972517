package signals

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// A Policy is an AlertPolicy of Cloud Monitoring's API.
type Policy struct {
	DisplayName   string            `json:"displayName"`
	Severity      string            `json:"severity"`
	Combiner      string            `json:"combiner"`
	Channels      []string          `json:"notificationChannels"`
	UserLabels    map[string]string `json:"userLabels"`
	Conditions    []Condition       `json:"conditions"`
	Documentation Documentation     `json:"documentation"`
}

// A Condition has one of the two.
type Condition struct {
	DisplayName string     `json:"displayName"`
	Threshold   *Threshold `json:"conditionThreshold,omitempty"`
	Absent      *Absent    `json:"conditionAbsent,omitempty"`
}

// A Threshold is met by numbers above or below it.
type Threshold struct {
	Filter                  string        `json:"filter"`
	DenominatorFilter       string        `json:"denominatorFilter,omitempty"` // with it the number is a share
	Comparison              string        `json:"comparison"`
	ThresholdValue          float64       `json:"thresholdValue"`
	Duration                string        `json:"duration"`
	EvaluationMissingData   string        `json:"evaluationMissingData,omitempty"`
	Aggregations            []Aggregation `json:"aggregations"`
	DenominatorAggregations []Aggregation `json:"denominatorAggregations,omitempty"`
}

// An Absent is met where there are no numbers.
type Absent struct {
	Filter       string        `json:"filter"`
	Duration     string        `json:"duration"`
	Aggregations []Aggregation `json:"aggregations"`
}

// An Aggregation makes one number of those in a window.
type Aggregation struct {
	AlignmentPeriod    string `json:"alignmentPeriod"`
	PerSeriesAligner   string `json:"perSeriesAligner"`
	CrossSeriesReducer string `json:"crossSeriesReducer,omitempty"`
}

// A Documentation is the text that a notification contains.
type Documentation struct {
	MimeType string `json:"mimeType"`
	Content  string `json:"content"`
	Links    []Link `json:"links"`
}

// A Link is one in a Documentation.
type Link struct {
	DisplayName string `json:"displayName"`
	URL         string `json:"url"`
}

// Policies returns the alert policies of both tables, by the name of the signal or measure. The
// playbooks are in the folder infra.
func Policies(infra string, table []Signal, platform []Measure, d Deployment) (map[string]Policy, error) {
	policies := map[string]Policy{}
	add := func(name, title, severity, playbook, combiner string, conditions ...Condition) error {
		text, err := os.ReadFile(filepath.Join(infra, "playbooks", playbook))
		if err != nil {
			return fmt.Errorf("reading the playbook of %s: %w", name, err)
		}
		policies[name] = Policy{
			DisplayName: d.Prefix + ": " + title, Severity: severity, Combiner: combiner,
			Channels: append([]string{}, d.Channels...), UserLabels: map[string]string{"app": d.Prefix}, Conditions: conditions,
			Documentation: Documentation{
				MimeType: "text/markdown",
				Content: strings.ReplaceAll(string(text), "--project=PROJECT --region=REGION --prefix=PREFIX",
					fmt.Sprintf("--project=%s --region=%s --prefix=%s", d.Project, d.Region, d.Prefix)),
				Links: d.links(playbook),
			},
		}
		return nil
	}
	byName := map[string]Signal{}
	for _, s := range table {
		byName[s.Name] = s
	}
	for _, s := range table {
		if s.Alert == nil {
			continue
		}
		combiner := "OR"
		if s.Alert.AllOf != "" || s.Alert.While != "" {
			combiner = "AND"
		}
		if err := add(s.Name, s.Alert.Title, s.Alert.Severity, s.Alert.Playbook, combiner,
			s.conditions(byName, d)...); err != nil {
			return nil, err
		}
	}
	for _, m := range platform {
		if m.Alert == nil {
			continue
		}
		if err := add(m.Name, m.Alert.Title, m.Alert.Severity, m.Alert.Playbook, "OR", m.condition(d)); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// links are what an alert links. It may have three.
func (d Deployment) links(playbook string) []Link {
	const console = "https://console.cloud.google.com/"
	dashboard := "monitoring/dashboards"
	if d.Dashboard != "" {
		dashboard += "/builder/" + path.Base(d.Dashboard)
	}
	database := d.Database
	if database == "(default)" {
		database = "-default-"
	}
	ledger := "firestore/databases/" + database + "/data/panel/operations"
	return []Link{
		{DisplayName: "Playbook", URL: playbooksURL + playbook},
		{DisplayName: "Dashboard", URL: console + dashboard + "?project=" + d.Project},
		{DisplayName: "Ledger", URL: console + ledger + "?project=" + d.Project},
	}
}

// metric is the filter for the numbers of the signal.
func (s Signal) metric(d Deployment) string {
	return fmt.Sprintf(`metric.type="logging.googleapis.com/user/%s-%s" AND resource.type=%q`, d.Prefix, s.Name,
		s.resource())
}

// conditions are those of the signal's alert.
func (s Signal) conditions(table map[string]Signal, d Deployment) []Condition {
	window := seconds(s.Alert.window(d.Interval))
	if s.Alert.When == "absent" {
		return s.absence(window, d)
	}
	above := func(filter string, count float64) *Threshold {
		return &Threshold{
			Filter: filter, Comparison: "COMPARISON_GT", ThresholdValue: count, Duration: "60s",
			EvaluationMissingData: "EVALUATION_MISSING_DATA_INACTIVE", Aggregations: sum(window),
		}
	}
	all := []Condition{{
		DisplayName: fmt.Sprintf("more than %d in %s", s.Alert.Count, window),
		Threshold:   above(s.metric(d), float64(s.Alert.Count)),
	}}
	if s.Alert.AllOf != "" {
		// A share of everything, since one that counted nothing yet has no zeros to compare with.
		name, share := "nothing else in "+window, above(s.metric(d), 0.99)
		if s.Alert.Share > 0 {
			name = fmt.Sprintf("more than %g %% of all in %s", 100*s.Alert.Share, window)
			share.ThresholdValue = s.Alert.Share
		}
		share.DenominatorFilter, share.DenominatorAggregations = table[s.Alert.AllOf].metric(d), sum(window)
		all = append(all, Condition{DisplayName: name, Threshold: share})
	}
	if s.Alert.Least > 0 {
		all = append(all, Condition{
			DisplayName: fmt.Sprintf("of at least %d in %s", s.Alert.Least, window),
			Threshold:   above(table[s.Alert.AllOf].metric(d), float64(s.Alert.Least-1)),
		})
	}
	if s.Alert.While != "" {
		other := table[s.Alert.While]
		all = append(all, Condition{
			DisplayName: fmt.Sprintf("and %s in %s", strings.ToLower(other.Title), window), Threshold: above(other.metric(d), 0),
		})
	}
	return all
}

// absence are the conditions for what has stopped: then there may be zeros, or no data.
func (s Signal) absence(window string, d Deployment) []Condition {
	return []Condition{
		{DisplayName: "none in " + window, Threshold: &Threshold{
			Filter: s.metric(d), Comparison: "COMPARISON_LT", ThresholdValue: 1, Duration: "60s",
			EvaluationMissingData: "EVALUATION_MISSING_DATA_ACTIVE", Aggregations: sum(window),
		}},
		{DisplayName: "absent for " + window, Absent: &Absent{Filter: s.metric(d), Duration: window,
			Aggregations: sum("60s")}},
	}
}

func sum(period string) []Aggregation {
	return []Aggregation{{AlignmentPeriod: period, PerSeriesAligner: "ALIGN_DELTA", CrossSeriesReducer: "REDUCE_SUM"}}
}

// window is so many intervals, or minutes; at least five minutes, because log lines are counted
// with a delay.
func (a Alert) window(interval time.Duration) time.Duration {
	window := time.Duration(a.Minutes) * time.Minute
	if a.Intervals > 0 {
		window = time.Duration(a.Intervals) * interval
	}
	return max(5*time.Minute, window)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", d/time.Second) }
