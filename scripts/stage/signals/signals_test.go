package signals

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	infra  = filepath.Join("..", "..", "..", "infra")
	update = flag.Bool("update", false,
		"write infra/tests/signals.json again; Terraform's test must then agree with it")
)

func read(t *testing.T) []Signal {
	t.Helper()
	table, err := Read(infra)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func policies(t *testing.T, d Deployment) map[string]Policy {
	t.Helper()
	platform, err := ReadPlatform(infra)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Policies(infra, read(t), platform, d)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTerraformMakesTheSame: metrics and policies are those in a file with which a test of
// Terraform compares its own. The texts of the playbooks are not in it.
func TestTerraformMakesTheSame(t *testing.T) {
	t.Parallel()
	d := Deployment{Project: "a-project", Database: "opledger", Prefix: "staging", Region: "us-central1",
		Interval: 10 * time.Minute, Channels: []string{"projects/a-project/notificationChannels/7"},
		Dashboard: "projects/123456789012/dashboards/7"}
	made := struct {
		Metrics  map[string]Metric `json:"metrics"`
		Policies map[string]Policy `json:"policies"`
	}{map[string]Metric{}, policies(t, d)}
	for _, s := range read(t) {
		made.Metrics[s.Name] = s.Metric(d)
	}
	for name, policy := range made.Policies {
		policy.Documentation.Content = ""
		made.Policies[name] = policy
	}
	got, err := json.MarshalIndent(made, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(infra, "tests", "signals.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := bytes.Split(got, []byte("\n")), bytes.Split(bytes.TrimSpace(want), []byte("\n"))
	for i := range min(len(gotLines), len(wantLines)) {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			t.Fatalf("line %d of infra/tests/signals.json is %s, made is %s; if that is meant: go test "+
				"./scripts/stage/signals -update", i+1, wantLines[i], gotLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Fatalf("infra/tests/signals.json has %d lines, made are %d; if that is meant: go test ./scripts/stage/signals "+
			"-update", len(wantLines), len(gotLines))
	}
}

// TestPlaybooks: a notification contains the playbook, whose first command names this deployment, and
// links it, the dashboard and the ledger.
func TestPlaybooks(t *testing.T) {
	t.Parallel()
	const console = "https://console.cloud.google.com/"
	d := Deployment{Project: "my-project", Database: "(default)", Prefix: "staging", Region: "us-central1",
		Interval: time.Minute}
	for name, policy := range policies(t, d) {
		links := policy.Documentation.Links
		_, file, _ := strings.Cut(links[0].URL, "/main/infra/playbooks/")
		text, err := os.ReadFile(filepath.Join(infra, "playbooks", file))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Replace(string(text), "--project=PROJECT --region=REGION --prefix=PREFIX",
			"--project=my-project --region=us-central1 --prefix=staging", 1); policy.Documentation.Content != want ||
			want == string(text) {
			t.Errorf("%s says %q, want %q", name, policy.Documentation.Content, want)
		}
		if links[1].URL != console+"monitoring/dashboards?project=my-project" ||
			links[2].URL != console+"firestore/databases/-default-/data/panel/operations?project=my-project" {
			t.Errorf("%s links %+v", name, links)
		}
		if policy.Channels == nil {
			t.Errorf("%s: channels that are left out would be kept by an update", name)
		}
	}
}

// TestWindows: windows follow the schedule, with a minimum.
func TestWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		interval time.Duration
		want     string
	}{
		{"passes", 5 * time.Minute, "900s"}, {"passes", 30 * time.Minute, "5400s"}, {"passes", time.Minute, "300s"},
		{"stuck", 5 * time.Minute, "600s"}, {"refused", 30 * time.Minute, "3600s"}, {"refused", time.Minute, "3600s"},
	} {
		threshold := policies(t, Deployment{Prefix: "p", Interval: c.interval})[c.name].Conditions[0].Threshold
		if got := threshold.Aggregations[0].AlignmentPeriod; got != c.want {
			t.Errorf("%s with passes every %v: a window of %s, want %s", c.name, c.interval, got, c.want)
		}
	}
}

// TestRead: an inconsistent table is refused, with the name of the signal.
func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:                          "unexpected end",
		`[{"name":"a","title":"A"}]`: `"a": a signal has a name`,
		`[{"name":"a","title":"A","functions":["webhook"],"alert":{"when":"below"}}]`: "above or absent",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "signals.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "platform.json"),
		[]byte(`[{"name":"a","title":"A","unit":"s","metric":"m"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPlatform(dir); err == nil || !strings.Contains(err.Error(), `"a": a measure has a name`) {
		t.Errorf("%v", err)
	}
}
