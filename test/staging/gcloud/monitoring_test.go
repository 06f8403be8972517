package gcloud

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	monitoring     = "https://monitoring.googleapis.com/v3/"
	metricsListed  = `^gcloud logging metrics list`
	policiesListed = `^curl .*--request GET .*/alertPolicies\?.*&fields=nextPageToken,` +
		`alertPolicies\(name,displayName,notificationChannels\)$`
)

// watched are the answers for a project with every metric and alert of the table, and one channel.
// Lists are answered as Google's APIs do, indented or not, with entries that are not opledger's.
func watched(t *testing.T) world {
	t.Helper()
	var metrics strings.Builder
	for _, e := range table(t, "metric") {
		fmt.Fprintf(&metrics, "opledger-%s\n", e[0])
	}
	list := `{"alertPolicies":[{"name":"projects/my-project/alertPolicies/900","displayName":"mine, {opledger: x}"}`
	for i, e := range table(t, "policy") {
		list += fmt.Sprintf(`,{"name":"projects/my-project/alertPolicies/%d","displayName":"opledger: %s",`+
			`"notificationChannels":["projects/my-project/notificationChannels/1"]}`, i+1, strings.Join(e[1:], " "))
	}
	return world{
		{Pattern: metricsListed, Out: metrics.String()},
		{Pattern: policiesListed, Out: list + "]}"},
		{Pattern: `^curl .*--request GET .*/notificationChannels\?.*&fields=nextPageToken,` +
			`notificationChannels\(name,displayName\)$`, Out: `{
  "notificationChannels": [
    {
      "name": "projects/my-project/notificationChannels/2",
      "displayName": "opledger: a pager"
    },
    {
      "name": "projects/my-project/notificationChannels/1",
      "displayName": "opledger: ops@example.com"
    }
  ]
}
`},
	}
}

// TestWatching: every metric and alert of infra/signals.json is made once and changed by the next
// run, metrics before the functions and alerts after them; notification channels are made once,
// too.
func TestWatching(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, metric, policy string
		run                  func(*testing.T) run
		channels             int // that are made
	}{
		{"first", "create", "POST", first, 1},
		{"second", "update", "PATCH", second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.run(t)
			var steps []string // of making what watches, and the last function
			for _, call := range r.calls {
				switch {
				case strings.HasPrefix(call.Line, "go run ./scripts/stage/ask watch "):
					steps = append(steps, "files")
					compare(t, call.Args[4:], []string{"dist/watch", "my-project", "opledger", "opledger", "europe-west1", "10m",
						"projects/my-project/notificationChannels/1\nprojects/my-project/notificationChannels/7"})
				case strings.HasPrefix(call.Line, "gcloud logging metrics") && call.Args[3] != "list":
					steps = append(steps, call.Args[3]+" "+call.Args[4]+" "+call.flag("--config-from-file"))
				case strings.HasPrefix(call.Line, "gcloud functions deploy opledger-reconcile "):
					steps = append(steps, "functions")
				case strings.HasPrefix(call.Line, "curl ") && strings.Contains(call.Line,
					"/alertPolicies") && !strings.Contains(call.Line, " GET "):
					if call.Stdin != "Authorization: Bearer token-of-mine\n" || strings.Contains(call.Line, "token-of-mine") {
						t.Errorf("the token is not where it belongs: %+v", call)
					}
					_, rest, _ := strings.Cut(call.Line, "--request ")
					method, _, _ := strings.Cut(rest, " ")
					_, rest, _ = strings.Cut(rest, "--data ")
					steps = append(steps, method+" "+rest)
				}
			}
			want := []string{"files"}
			for _, e := range table(t, "metric") {
				want = append(want, fmt.Sprintf("%s opledger-%s dist/watch/metrics/%[2]s.json", c.metric, e[0]))
			}
			want = append(want, "functions")
			for i, e := range table(t, "policy") {
				url := monitoring + "projects/my-project/alertPolicies"
				if c.policy == "PATCH" {
					url += fmt.Sprintf("/%d", i+1)
				}
				want = append(want, fmt.Sprintf("%s @dist/watch/policies/%s.json %s", c.policy, e[0], url))
			}
			compare(t, steps, want)
			found := r.matching("--request POST",
				`{"type":"email","displayName":"opledger: ops@example.com","labels":`+
					`{"email_address":"ops@example.com"},"userLabels":{"app":"opledger"}}`)
			if len(found) != c.channels || len(r.matching("--request POST", "/notificationChannels")) != c.channels {
				t.Errorf("made the channels %+v, want %d", found, c.channels)
			}
		})
	}
}

// TestAlertsWithoutAChannel: deploy warns of alerts without a channel; if a list cannot be read, nothing is
// made twice.
func TestAlertsWithoutAChannel(t *testing.T) {
	t.Parallel()
	r := plain(t)
	if !strings.Contains(r.stderr, "alerts have no recipient") || len(r.matching("/notificationChannels")) != 0 {
		t.Errorf("it called %+v and said %s", r.matching("/notificationChannels"), r.stderr)
	}
	for _, kind := range []string{"alertPolicies", "notificationChannels"} {
		refused := world{{Pattern: `^curl .*--request GET .*/` + kind + `\?`, Out: "quota", Code: 22}}
		w := append(refused, deployed(t)...).withOnly(t, "metric", "policy")
		r := deploy(t, w, "--notify", "ops@example.com").want(t, 1)
		if len(r.matching("curl", " POST ")) != 0 || !strings.Contains(r.stderr, "quota") {
			t.Errorf("%s: it called %+v and said %s", kind, r.matching("curl"), r.stderr)
		}
	}
}

// TestPages: a list in several pages is read to its end.
func TestPages(t *testing.T) {
	t.Parallel()
	pages := world{
		{Pattern: `alertPolicies\?pageSize=500&pageToken=tw%2Bo&`,
			Out: `{"alertPolicies":[{"name":"projects/my-project/alertPolicies/77",` +
				`"displayName":"opledger: messages in the dead-letter topic"}]}`},
		{Pattern: policiesListed, Out: `{"alertPolicies":[{"name":"projects/my-project/alertPolicies/76",` +
			`"displayName":"opledger: reconciliation has stopped",` +
			`"notificationChannels":["projects/my-project/notificationChannels/1"]}],"nextPageToken": "tw+o"}`},
	}
	r := bash(t, pages, "", "-euc", `. scripts/common.sh; . scripts/monitoring.sh
		project=my-project; monitoring_list alertPolicies`).want(t, 0)
	compare(t, strings.Split(strings.TrimSpace(r.out), "\n"), []string{
		"projects/my-project/alertPolicies/76 1 opledger: reconciliation has stopped",
		"projects/my-project/alertPolicies/77 0 opledger: messages in the dead-letter topic",
	})
}

// TestWatchWritesTheTable: for exactly the metrics and alerts that deploy reads from the table,
// there is the file that it gives to gcloud or curl.
func TestWatchWritesTheTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "go", "run", "github.com/opledger/opledger/scripts/stage/ask", "watch",
		dir, "my-project", "opledger", "opledger", "europe-west1", "5m", "")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for kind, folder := range map[string]string{"metric": "metrics", "policy": "policies"} {
		for _, e := range table(t, kind) {
			if err := os.Remove(filepath.Join(dir, folder, e[0]+".json")); err != nil {
				t.Error(err)
			}
		}
		if left, err := os.ReadDir(filepath.Join(dir, folder)); err != nil || len(left) != 0 {
			t.Errorf("%s: %v beside the table, %v", folder, left, err)
		}
	}
}
