package infra_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/infra"
	"github.com/opledger/opledger/scripts/opledger/metrics"
	stage "github.com/opledger/opledger/scripts/stage/signals"
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
