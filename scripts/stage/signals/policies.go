package signals

import (
	"fmt"
	"os"
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
	Filter                string        `json:"filter"`
	Comparison            string        `json:"comparison"`
	ThresholdValue        int           `json:"thresholdValue"`
	Duration              string        `json:"duration"`
	EvaluationMissingData string        `json:"evaluationMissingData,omitempty"`
	Aggregations          []Aggregation `json:"aggregations"`
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

// A Documentation is what whoever is woken reads.
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

// Policies are the alert policies of both tables, by the name of the signal or measure. The playbooks are in the folder infra.
func Policies(infra string, table []Signal, platform []Measure, d Deployment) (map[string]Policy, error) {
	policies := map[string]Policy{}
	add := func(name, title, severity, playbook string, conditions ...Condition) error {
		text, err := os.ReadFile(filepath.Join(infra, "playbooks", playbook))
		if err != nil {
			return fmt.Errorf("reading the playbook of %s: %w", name, err)
		}
		policies[name] = Policy{
			DisplayName: d.Prefix + ": " + title, Severity: severity, Combiner: "OR",
			Channels: append([]string{}, d.Channels...), UserLabels: map[string]string{"app": d.Prefix}, Conditions: conditions,
			Documentation: Documentation{
				MimeType: "text/markdown", Content: strings.NewReplacer("PREFIX", d.Prefix, "REGION", d.Region).Replace(string(text)),
				Links: []Link{{DisplayName: "Playbook", URL: "https://github.com/opledger/opledger/blob/main/infra/playbooks/" + playbook}},
			},
		}
		return nil
	}
	for _, s := range table {
		if s.Alert == nil {
			continue
		}
		if err := add(s.Name, s.Alert.Title, s.Alert.Severity, s.Alert.Playbook, s.conditions(d)...); err != nil {
			return nil, err
		}
	}
	for _, m := range platform {
		if m.Alert == nil {
			continue
		}
		if err := add(m.Name, m.Alert.Title, m.Alert.Severity, m.Alert.Playbook, m.condition(d)); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// conditions are those of the signal's alert.
func (s Signal) conditions(d Deployment) []Condition {
	filter := fmt.Sprintf(`metric.type="logging.googleapis.com/user/%s-%s" AND resource.type=%q`, d.Prefix, s.Name, s.resource())
	window := seconds(s.Alert.window(d.Interval))
	sum := func(period string) []Aggregation {
		return []Aggregation{{AlignmentPeriod: period, PerSeriesAligner: "ALIGN_DELTA", CrossSeriesReducer: "REDUCE_SUM"}}
	}
	threshold := &Threshold{Filter: filter, Duration: "60s", Aggregations: sum(window)}
	if s.Alert.When == "above" {
		threshold.Comparison, threshold.ThresholdValue = "COMPARISON_GT", s.Alert.Count
		threshold.EvaluationMissingData = "EVALUATION_MISSING_DATA_INACTIVE"
		return []Condition{{DisplayName: fmt.Sprintf("more than %d in %s", s.Alert.Count, window), Threshold: threshold}}
	}
	// What stops may leave zeros, or nothing.
	threshold.Comparison, threshold.ThresholdValue = "COMPARISON_LT", 1
	threshold.EvaluationMissingData = "EVALUATION_MISSING_DATA_ACTIVE"
	return []Condition{
		{DisplayName: "none in " + window, Threshold: threshold},
		{DisplayName: "absent for " + window, Absent: &Absent{Filter: filter, Duration: window, Aggregations: sum("60s")}},
	}
}

// window is so many intervals, or minutes; never under five minutes, since a line of the log takes a while to count.
func (a Alert) window(interval time.Duration) time.Duration {
	window := time.Duration(a.Minutes) * time.Minute
	if a.Intervals > 0 {
		window = time.Duration(a.Intervals) * interval
	}
	return max(5*time.Minute, window)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", d/time.Second) }
