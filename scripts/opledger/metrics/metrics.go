// Package metrics shows Prometheus what one process of opledger serve or local does, and the state of its ledger.
//
// What happens is counted in one place: a handler of the log, which sees each line before it is written. The one
// exception is a refused delivery, which callers may send without end, so that the log has a sample of them. The
// functions know nothing of metrics, and the deployed ones do not link this package: their lines are counted by
// Cloud Logging. Every row of infra/signals.json is a counter, so that an alert of Prometheus and a policy on Google
// Cloud that have one name count the same lines. Further counters, and the histograms, break the same lines down.
//
// The gauges are read from the ledger, a few times a minute at most. Every process over one ledger has the same:
// take max() of them, never sum(). Counters are of one process: sum them.
//
// No metric has the name of an operation, or a label named job or instance, which a scrape sets.
package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/opledger/opledger/infra"
	"github.com/opledger/opledger/scripts/stage/signals"
)

// Metrics are those of one process.
type Metrics struct {
	registry *prometheus.Registry
	table    []signals.Signal
	events   *events
	calls    *calls
}

// New returns the metrics of a process. The counters begin at zero.
func New() (*Metrics, error) {
	table, err := signals.Parse(infra.Signals)
	if err != nil {
		return nil, err
	}
	m := &Metrics{registry: prometheus.NewRegistry(), table: table, events: newEvents(table), calls: newCalls()}
	m.registry.MustRegister(m.events.all...)
	m.registry.MustRegister(m.calls.errors, m.calls.commit)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo())
	return m, nil
}

// CountRefused counts a delivery that the webhook refused for a reason, whether or not it is logged.
func (m *Metrics) CountRefused(reason string) { m.events.refused.of(reason).Inc() }

// scrapeTime bounds one scrape.
const scrapeTime = 10 * time.Second

// Handler answers GET /metrics in Prometheus's text format, and GET /alerts.yml with alert rules for processes that
// make a pass once in every interval. What a scrape could not gather is logged.
func (m *Metrics) Handler(interval time.Duration, log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: scrapeTime,
	}))
	mux.HandleFunc("GET /alerts.yml", func(w http.ResponseWriter, _ *http.Request) {
		rules, err := signals.Rules(m.table, interval)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(rules) // the caller may have gone
	})
	return mux
}

// buildInfo is the gauge that says which build runs.
func buildInfo() prometheus.Collector {
	version, revision := "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "opledger_build_info", Help: "1, with the build that runs: its version, its commit and Go's version.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}
