// Package signals makes of infra/signals.json and infra/platform.json what Cloud Logging and Cloud
// Monitoring accept: log-based metrics, and alert policies with the text of their playbooks. Terraform
// makes the same of the same tables; the tests of both compare their result with
// infra/tests/signals.json. Of the same table it makes alert rules for Prometheus, which scrapes serve.
package signals

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Signal is what is counted in the log, and when an alert fires.
type Signal struct {
	Name, Title string
	Functions   []string         // whose lines count,
	Job         string           // or the scheduler job whose failed calls do; without the prefix
	Where       map[string][]any // the field of a line must be one of these
	Label       string           // the field that is counted apart; empty for none
	About       string
	Alert       *Alert // nil: no alert
}

// An Alert is raised by more than Count lines in a window (When is "above"), or by none ("absent").
type Alert struct {
	Title, When string
	Count       int
	// with "above": a signal that must count nothing else in the window; empty for none
	AllOf string `json:"all-of"`
	// with AllOf: more than this share of it is enough, if it counts at least so many
	Share              float64
	Least              int
	While              string // with "above": a signal that must have counted something in it, too
	Intervals, Minutes int    // the window: so many intervals of the schedule, or so many minutes
	Severity, Playbook string
	// Prometheus is the expression of its alert, where serve prints no line of the signal; empty: it counts lines
	Prometheus string
	// with Prometheus: what that means, in place of the title and of what the signal is about
	PrometheusTitle string `json:"prometheus-title"`
	PrometheusAbout string `json:"prometheus-about"`
}

// A Deployment holds what a policy depends on besides the table.
type Deployment struct {
	Project        string
	Database       string // of the ledger, or (default)
	Prefix, Region string
	Dashboard      string        // its name; empty: there is none, and the list of all is linked
	Interval       time.Duration // of the schedule
	Channels       []string      // notification channels, by their full names
}

// Read reads the table, signals.json in the folder infra.
func Read(infra string) ([]Signal, error) {
	text, err := os.ReadFile(filepath.Join(infra, signalsFile))
	if err != nil {
		return nil, fmt.Errorf("reading a table: %w", err)
	}
	return Parse(text)
}

const signalsFile = "signals.json"

// Parse reads the table from the text of signals.json.
func Parse(text []byte) ([]Signal, error) {
	var table []Signal
	if err := json.Unmarshal(text, &table); err != nil {
		return nil, fmt.Errorf("reading %s: %w", signalsFile, err)
	}
	for _, s := range table {
		if s.Name == "" || s.Title == "" || (len(s.Functions) == 0) == (s.Job == "") ||
			s.Alert != nil && s.Alert.When != "above" && s.Alert.When != "absent" {
			return nil,
				fmt.Errorf("reading %s: %q: a signal has a name, a title, and functions or a job, and an alert is above or absent",
					signalsFile, s.Name)
		}
	}
	for _, s := range table {
		if s.Alert == nil {
			continue
		}
		for _, other := range []string{s.Alert.AllOf, s.Alert.While} {
			if other != "" && !slices.ContainsFunc(table, func(s Signal) bool { return s.Name == other }) {
				return nil, fmt.Errorf("reading %s: the alert of %q is about a signal %q, which is not there", signalsFile,
					s.Name, other)
			}
		}
	}
	return table, nil
}

// ReadTable decodes a file of JSON.
func ReadTable(file string, into any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

// A Metric is a LogMetric of Cloud Logging's API.
type Metric struct {
	Name            string            `json:"name"`
	Description     string            `json:"description"`
	Filter          string            `json:"filter"`
	Descriptor      Descriptor        `json:"metricDescriptor"`
	LabelExtractors map[string]string `json:"labelExtractors"`
}

// A Descriptor is the kind of a metric's numbers.
type Descriptor struct {
	MetricKind  string  `json:"metricKind"`
	ValueType   string  `json:"valueType"`
	Unit        string  `json:"unit"`
	DisplayName string  `json:"displayName"`
	Labels      []Label `json:"labels"`
}

// A Label is a field by which a metric is broken down.
type Label struct {
	Key       string `json:"key"`
	ValueType string `json:"valueType"`
}

// Metric is the log-based metric that counts the signal.
func (s Signal) Metric(d Deployment) Metric {
	m := Metric{
		Name: d.Prefix + "-" + s.Name, Description: s.About, Filter: s.filter(d),
		Descriptor: Descriptor{
			MetricKind: "DELTA", ValueType: "INT64", Unit: "1", DisplayName: d.Prefix + ": " + s.Title, Labels: []Label{},
		},
		LabelExtractors: map[string]string{},
	}
	if s.Label != "" {
		m.Descriptor.Labels = []Label{{Key: s.Label, ValueType: "STRING"}}
		m.LabelExtractors[s.Label] = "EXTRACT(jsonPayload." + s.Label + ")"
	}
	return m
}

// resource is the type of the resource that the lines are about.
func (s Signal) resource() string {
	if s.Job != "" {
		return "cloud_scheduler_job"
	}
	return "cloud_run_revision"
}

// filter compares the fields of our own log for equality only.
func (s Signal) filter(d Deployment) string {
	if s.Job != "" {
		return fmt.Sprintf(`resource.type=%q AND resource.labels.job_id=%q AND severity="ERROR"`, s.resource(),
			d.Prefix+"-"+s.Job)
	}
	var services []string
	for _, function := range s.Functions {
		services = append(services, fmt.Sprintf("%q", d.Prefix+"-"+function))
	}
	parts := []string{fmt.Sprintf("resource.type=%q", s.resource()),
		"resource.labels.service_name=(" + strings.Join(services, " OR ") + ")"}
	for _, field := range slices.Sorted(maps.Keys(s.Where)) {
		var words []string
		for _, word := range s.Where[field] {
			if text, ok := word.(string); ok {
				word = fmt.Sprintf("%q", text)
			}
			words = append(words, fmt.Sprint(word))
		}
		parts = append(parts, "jsonPayload."+field+"=("+strings.Join(words, " OR ")+")")
	}
	return strings.Join(parts, " AND ")
}
