package infra_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/infra"
	"github.com/opledger/opledger/scripts/opledger/metrics"
	stage "github.com/opledger/opledger/scripts/stage/signals"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/commandtest"
	"github.com/opledger/opledger/test/harness"
)

// countedAlike checks that the counters of serve count, of the lines that one function has printed, those that the
// filters on Google Cloud count. There, a filter sees the lines of its functions alone; the lines themselves must show
// it, where all are in one log.
func countedAlike(t *testing.T, signals []signal, printed lines) {
	t.Helper()
	m, err := metrics.New()
	if err != nil {
		t.Fatal(err)
	}
	log, want := m.Log(slog.New(slog.DiscardHandler)), map[string]int{}
	for function, all := range printed {
		for _, line := range all {
			var fields []any
			for field, value := range line {
				fields = append(fields, field, value)
			}
			log.Info(fmt.Sprint(line["message"]), fields...)
			for _, s := range signals {
				if slices.Contains(s.Functions, function) && s.counts(t, line) {
					want[s.Name]++
				}
			}
		}
	}
	page := scrape(t, m)
	for _, s := range signals {
		if s.Job != "" || s.Name == "not-started" || s.Name == "effects" { // the last is no alert, and of any function
			continue
		}
		if sample := fmt.Sprintf("\n%s %d\n", counterOf(s), want[s.Name]); !strings.Contains(page, sample) {
			t.Errorf("%s is not counted %d times, as on Google Cloud, of %v", s.Name, want[s.Name], printed)
		}
	}
}

func counterOf(s signal) string { return stage.Signal{Name: s.Name}.Counter() }

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler(time.Minute, slog.New(slog.DiscardHandler)).ServeHTTP(answer,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}

// window is that of every alert in the test, in place of minutes and hours. TestDurations has the real ones.
const window = 8 * time.Second

// TestPrometheus: a real Prometheus loads the alert rules and scrapes a real serve. While all is well no alert fires.
// Each fires on its trouble, and ends when that has ended. The trouble is in serve where a caller can make it; else in
// the functions over a ledger whose clock the test moves, counted in the same way.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	const stopped, down = "OpledgerReconcileAbsent", "OpledgerNotStarted"
	p := newProm(t)
	m, err := metrics.New()
	if err != nil {
		t.Fatal(err)
	}
	others := httptest.NewServer(m.Handler(time.Minute, slog.New(slog.DiscardHandler)))
	t.Cleanup(others.Close)
	s := newServed(t, freeAddress(t))
	p.start(t, s.metrics, others.Listener.Addr().String())
	s.healthy()
	p.until(t, "a scrape of both", func() bool {
		return p.value(t, `min(up)`) == 1 && p.value(t, `count(up)`) == 2 &&
			p.value(t, `sum(opledger_effects_total{outcome="finished"})`) >= 1 && !slices.Contains(p.firing(t), down)
	})
	if firing := p.firing(t); len(firing) > 0 {
		t.Errorf("while all is well %v fire", firing)
	}

	table, err := stage.Parse(infra.Signals)
	if err != nil {
		t.Fatal(err)
	}
	alone, together := []stage.Signal{}, []stage.Signal{}
	for _, one := range table {
		switch {
		case one.Alert == nil || one.Job != "" || one.Alert.When == "absent" || one.Alert.Prometheus != "":
		case one.Alert.AllOf != "" && one.Alert.Share == 0: // a delivery that is accepted ends it
			alone = append(alone, one)
		default:
			together = append(together, one)
		}
	}
	trouble := troubles{prom: p, served: s, others: m, fired: map[string]bool{}, made: map[string]time.Time{}}
	for _, group := range [][]stage.Signal{alone, together} {
		p.until(t, "every alert", func() bool { return trouble.fires(t, group) })
	}
	t.Logf("fired: %v", slices.Sorted(maps.Keys(trouble.fired)))
	s.stop()
	p.until(t, "the end of every trouble, and of the passes", func() bool {
		return slices.Equal(p.firing(t), []string{stopped})
	})
	p.until(t, "a pass", func() bool {
		provoke(t, m, "passes", 1)
		return len(p.firing(t)) == 0
	})
	others.Close()
	p.until(t, "that no process is scraped", func() bool { return slices.Contains(p.firing(t), down) })
	again := newServed(t, s.metrics)
	p.until(t, "a process again", func() bool { return !slices.Contains(p.firing(t), down) })
	again.stop()
}

// troubles makes the trouble of alerts.
type troubles struct {
	prom   *prom
	served *served
	others *metrics.Metrics
	fired  map[string]bool
	made   map[string]time.Time // when, by signal
}

// fires makes the trouble of each alert of a group that has not fired, once in every window, and reports whether all
// have.
func (o troubles) fires(t *testing.T, group []stage.Signal) bool {
	t.Helper()
	for _, name := range o.prom.firing(t) {
		o.fired[name] = true
	}
	all := true
	for _, s := range group {
		if o.fired[s.AlertName()] {
			continue
		}
		all = false
		if time.Since(o.made[s.Name]) < window {
			continue
		}
		times := max(s.Alert.Count+1, s.Alert.Least)
		if make, ok := o.served.troubles()[s.Name]; ok {
			make(times)
		} else {
			provoke(t, o.others, s.Name, times)
		}
		if s.Alert.While != "" {
			provoke(t, o.others, s.Alert.While, 1)
		}
		o.made[s.Name] = time.Now()
	}
	return all
}

// provoke makes the functions meet a situation that a signal counts, so many times, each over a ledger of its own.
func provoke(t *testing.T, m *metrics.Metrics, name string, times int) {
	t.Helper()
	all := slices.Concat(ofReconcile, ofEffects, ofWebhook, ofProofs, ofRegister, ofJobs)
	i := slices.IndexFunc(all, func(s situation) bool { return slices.Contains(s.want, name) })
	if i < 0 {
		t.Fatalf("no situation is counted by %s", name)
	}
	t.Run(name, func(t *testing.T) {
		for range times {
			w := newWorld(t)
			w.counted = m
			all[i].provoke(w)
		}
	})
}

// A served is opledger serve, with a receiver of its effects.
type served struct {
	commandtest.Served
	t       *testing.T
	metrics string // the address
	gemini  *geminisim.Sim
	answer  atomic.Int32
	made    atomic.Int64
	stop    func()
}

// newServed starts serve as infra/prometheus/README.md says, with its metrics at an address.
func newServed(t *testing.T, at string) *served {
	t.Helper()
	gemini := geminisim.New(geminisim.Config{Seed: 1})
	s := &served{t: t, metrics: at, gemini: gemini}
	s.answer.Store(http.StatusOK)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(s.answer.Load()))
	}))
	t.Cleanup(receiver.Close)
	api := httptest.NewServer(gemini.Handler())
	t.Cleanup(func() { gemini.Close(); api.Close() })
	flag, _, _ := strings.Cut(after(t, documented(t), "$ opledger serve "), " ")
	s.Served = commandtest.Serving(t, []string{
		"OPLEDGER_WEBHOOK_SECRET=" + secret, "OPLEDGER_INTERVAL=1s", "OPLEDGER_GRACE=1ms",
		"GOOGLE_GEMINI_BASE_URL=" + api.URL, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: %q}]", receiver.URL),
	}, flag, at)
	stopped := false
	s.stop = func() {
		if !stopped {
			stopped = true
			s.Served.Stop()
		}
	}
	t.Cleanup(s.stop)
	return s
}

func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "infra", "prometheus", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func after(t *testing.T, text, mark string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, mark)
	if !found {
		t.Fatalf("infra/prometheus/README.md has no %q", mark)
	}
	return rest
}

// send posts a body to serve.
func (s *served) send(path string, header http.Header, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

// deliver sends what Gemini would: the id, the time and the secret may be others.
func (s *served) deliver(id, body, secret string, at time.Time) {
	s.t.Helper()
	s.send("/webhook", delivery(id, at, geminisim.Sign(secret, id, at, []byte(body))), body)
}

// next is a number that no other delivery or batch has.
func (s *served) next() string { return strconv.FormatInt(s.made.Add(1), 10) }

// ends delivers the end of a batch, which was registered or not.
func (s *served) ends(registered bool, kinds ...string) {
	s.t.Helper()
	name := "batches/b" + s.next()
	if registered {
		s.send("/register", http.Header{}, fmt.Sprintf(`{"name":%q}`, name))
	}
	for _, kind := range kinds {
		s.deliver("m"+s.next(), fmt.Sprintf(`{"type":"batch.%s","version":"v1","timestamp":%q,"data":{"id":%q}}`, kind,
			time.Now().Format(time.RFC3339), name), secret, time.Now())
	}
}

// healthy registers a batch, which a pass finds to have succeeded.
func (s *served) healthy() {
	s.t.Helper()
	name := commandtest.Batch(s.t, s.gemini, "healthy", geminisim.StateSucceeded)
	s.send("/register", http.Header{}, fmt.Sprintf(`{"name":%q}`, name))
}

// troubles are what callers of serve, its receiver and Gemini can do to it, by the signal that counts it.
func (s *served) troubles() map[string]func(times int) {
	repeat := func(do func()) func(int) {
		return func(times int) {
			for range times {
				do()
			}
		}
	}
	receiver := func(status int32) func(int) {
		return func(times int) {
			s.answer.Store(status)
			repeat(func() { s.ends(true, "succeeded") })(times)
		}
	}
	return map[string]func(int){
		"refused":           repeat(func() { s.deliver("m"+s.next(), "{}", other, time.Now()) }),
		"stale":             repeat(func() { s.deliver("m"+s.next(), "{}", secret, time.Now().Add(-time.Hour)) }),
		"misread":           repeat(func() { s.deliver("m."+s.next(), "{}", secret, time.Now()) }),
		"quarantined":       repeat(func() { s.deliver("m"+s.next(), `{"type":`, secret, time.Now()) }),
		"conflicts":         repeat(func() { s.ends(true, "succeeded", "failed") }),
		"unmatched":         repeat(func() { s.ends(false, "succeeded") }),
		"effects-failing":   receiver(http.StatusServiceUnavailable),
		"effects-dead":      receiver(http.StatusGone),
		"effects-malformed": repeat(func() { s.send("/effects", http.Header{}, push("no JSON")) }),
	}
}

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
