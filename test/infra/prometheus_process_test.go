package infra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/test/harness"
)

// A prom is a Prometheus.
type prom struct{ url, address string }

func newProm(t *testing.T) *prom {
	t.Helper()
	address := freeAddress(t)
	return &prom{url: "http://" + address, address: address}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := harness.FreePort(t)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}

// start starts a Prometheus with the configuration of infra/prometheus/README.md, which scrapes these addresses twice a
// second, and with the rules that are beside it, whose windows are shorter.
func (p *prom) start(t *testing.T, targets ...string) {
	t.Helper()
	const untested = "whether its alerts fire is not tested"
	program := harness.Program(t, "prometheus", untested)
	promtool := harness.Program(t, "promtool", untested)
	dir := t.TempDir()
	rules, err := os.ReadFile(filepath.Join(root, "infra", "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rules = regexp.MustCompile(`\[\d+[smh]]`).ReplaceAll(rules, []byte("["+window.String()+"]"))
	rules = regexp.MustCompile(`for: 1m\n`).ReplaceAll(rules, []byte("for: 0s\n"))
	rules = regexp.MustCompile(`offset \d+[smh]`).ReplaceAll(rules, []byte("offset "+window.String()))
	config, _, _ := strings.Cut(after(t, documented(t), "```yaml\n"), "```")
	quoted, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	config = "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}\n" +
		strings.Replace(config, `["127.0.0.1:9464"]`, string(quoted), 1)
	for name, text := range map[string]string{"alerts.yml": string(rules), "prometheus.yml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "prometheus.yml")
	if out, err := exec.CommandContext(t.Context(), promtool, "check", "config", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var said bytes.Buffer
	command := exec.CommandContext(ctx, program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+p.address, "--log.level=warn")
	command.Stdout, command.Stderr = &said, &said
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = command.Wait(); close(ended) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Failed() {
			t.Logf("Prometheus said %s", &said)
		}
	})
	p.until(t, "Prometheus", func() bool {
		answer, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

// until waits for a condition that Prometheus or the test reaches.
func (p *prom) until(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(250*time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain for %s; firing: %v", what, p.firing(t))
		}
	}
}

// ask reads an answer of Prometheus.
func (p *prom) ask(t *testing.T, path string, into any) {
	t.Helper()
	answer, err := http.Get(p.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}

// firing returns the alerts that fire.
func (p *prom) firing(t *testing.T) []string {
	t.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string            `json:"state"`
				Labels map[string]string `json:"labels"`
			} `json:"alerts"`
		} `json:"data"`
	}
	p.ask(t, "/api/v1/alerts", &answer)
	all := []string{}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			all = append(all, a.Labels["alertname"])
		}
	}
	slices.Sort(all)
	return all
}

// value returns what a query has now; zero where that is nothing.
func (p *prom) value(t *testing.T, query string) float64 {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct {
				Value []any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	p.ask(t, "/api/v1/query?"+(url.Values{"query": {query}}).Encode(), &answer)
	if len(answer.Data.Result) != 1 || len(answer.Data.Result[0].Value) != 2 {
		return 0
	}
	n, err := strconv.ParseFloat(fmt.Sprint(answer.Data.Result[0].Value[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
