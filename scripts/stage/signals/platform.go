package signals

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A Measure is a metric that Google Cloud itself measures of a deployment, an entry of
// infra/platform.json.
type Measure struct {
	Name, Title, Unit string
	Metric            string            // its full name
	Resource          string            // the type of what it is measured on
	Where             map[string]string // names by label of the resource, without the prefix
	Aligner           string            // makes one value of those in five minutes
	Alert             *Limit            // nil: no alert
}

// A Limit is the value above which a measure must be for five minutes to raise an alert.
type Limit struct {
	Title              string
	Above              int
	Severity, Playbook string
}

// ReadPlatform reads the table of measures, platform.json in the folder infra.
func ReadPlatform(infra string) ([]Measure, error) {
	file := filepath.Join(infra, "platform.json")
	var table []Measure
	if err := ReadTable(file, &table); err != nil {
		return nil, err
	}
	for _, m := range table {
		if m.Name == "" || m.Title == "" || m.Unit == "" || m.Metric == "" || m.Resource == "" || m.Aligner == "" ||
			len(m.Where) == 0 {
			return nil,
				fmt.Errorf("reading %s: %q: a measure has a name, a title, a unit, a metric, a resource, labels and an aligner",
					file, m.Name)
		}
	}
	return table, nil
}

// condition is the condition of the measure's alert.
func (m Measure) condition(d Deployment) Condition {
	parts := []string{fmt.Sprintf("metric.type=%q", m.Metric), fmt.Sprintf("resource.type=%q", m.Resource)}
	for _, label := range slices.Sorted(maps.Keys(m.Where)) {
		parts = append(parts, fmt.Sprintf("resource.labels.%s=%q", label, d.Prefix+"-"+m.Where[label]))
	}
	return Condition{
		DisplayName: fmt.Sprintf("more than %d %s for 300s", m.Alert.Above, m.Unit),
		Threshold: &Threshold{
			Filter: strings.Join(parts, " AND "), Comparison: "COMPARISON_GT", ThresholdValue: float64(m.Alert.Above),
			Duration:     "300s",
			Aggregations: []Aggregation{{AlignmentPeriod: "300s", PerSeriesAligner: m.Aligner}},
		},
	}
}
