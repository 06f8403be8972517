package metrics

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A Watched is a ledger whose state is shown.
type Watched struct {
	Ledger   ledger.Reading
	Interval time.Duration // between two passes
	// Rules are as in [overview.Options], and Serve returns what is there; nil: nothing.
	Rules []string
	Serve func(context.Context) overview.Serve
	// File is the SQLite file; empty: the ledger is in Firestore.
	File string
	Now  func() time.Time
	Log  *slog.Logger
}

// Watch shows the state of a ledger from now on.
func (m *Metrics) Watch(w Watched) {
	if w.Serve == nil {
		w.Serve = func(context.Context) overview.Serve { return overview.Serve{} }
	}
	g := &gauges{Watched: w, every: readFile}
	if w.File == "" {
		g.every = readFirestore
	}
	m.registry.MustRegister(g)
}

const (
	// readFile and readFirestore are how often the ledger is read at most. One reading makes about 50 calls, and
	// Firestore charges each.
	readFile      = 5 * time.Second
	readFirestore = time.Minute
	// readWithin bounds a reading, within the time of a scrape.
	readWithin = scrapeTime * 4 / 5
	// most is how many documents of each list are read.
	most = 20
)

// gauges are the state of the ledger, as it was read last.
type gauges struct {
	Watched
	every time.Duration

	mu   sync.Mutex
	at   time.Time
	last []prometheus.Metric
}

// Describe implements [prometheus.Collector]: which gauges there are depends on the ledger, and is checked when they
// are gathered.
func (g *gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.Now(); g.at.IsZero() || now.Sub(g.at) >= g.every || now.Before(g.at) {
		g.read()
		g.at = now
	}
	for _, metric := range g.last {
		to <- metric
	}
}

// read reads the ledger. What cannot be read has no gauge: the last value, or zero, would be taken for the truth.
func (g *gauges) read() {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	g.last = nil
	o, err := overview.Read(ctx, g.Ledger, overview.Options{
		Interval: g.Interval, Most: most, File: g.File != "", Rules: g.Rules, Serve: g.Serve(ctx),
	})
	if err == nil {
		g.show(o)
		err = errors.Join(g.showPending(ctx), g.showJobs(ctx))
	}
	readable := 1.0
	if err != nil {
		g.last, readable = nil, 0
		g.Log.WarnContext(ctx, "the ledger cannot be read for its metrics", "event", "metrics", "outcome", "error",
			"error", err)
	}
	g.gauge("opledger_ledger_readable", "1 if the ledger could be read for the other gauges of it.", readable)
	g.showFile()
}

// ofLedger ends the help of every gauge that all processes over one ledger have alike.
const ofLedger = " Of the ledger: the same in every process, so take the max."

func (g *gauges) show(o overview.Overview) {
	total := func(name, help string, t ledger.Total) { g.gauge(name, help+ofLedger, float64(t.N)) }
	since := func(name, help string, at time.Time) {
		if !at.IsZero() {
			g.gauge(name, help+ofLedger, float64(at.UnixMilli())/millis)
		}
	}
	since("opledger_pass_end_timestamp_seconds", "When the last reconcile pass ended.", o.LastPass.Ended)
	total("opledger_operations_late", "Operations that are pending for too long, or that Gemini does not know.",
		o.Pending.Late)
	if o.Pending.N > 0 {
		since("opledger_operations_pending_oldest_timestamp_seconds",
			"When the pending operation was submitted that is, or will be, late first.", o.Pending.SubmittedAt)
	}
	total("opledger_effects_open", "Effects that are neither done nor dead.", o.Effects.Open)
	total("opledger_effects_running", "Effects that a worker has claimed.", o.Effects.Running)
	total("opledger_effects_failing", "Open effects that have failed for an hour.", o.Effects.Long.Total)
	since("opledger_effects_oldest_timestamp_seconds", "Since when the first open effect could have been run.",
		o.Effects.ClaimableSince)
	total("opledger_operations_with_dead_effects", "Operations with an effect that was given up.", o.Dead.Total)
	total("opledger_intents_open", "Intents whose operation is not known yet.", o.Intents.Total)
	total("opledger_operations_in_conflict", "Operations that ended in two ways within a week, and are not resolved.",
		o.Conflicts.Total)
	total("opledger_operations_unregistered", "Operations that deliveries alone reported, and that are not resolved.",
		o.Unregistered.Total)
	total("opledger_quarantine_unresolved", "Signed deliveries that could not be understood, and are not resolved.",
		o.Unread.Unresolved)
	paused := 0.0
	if o.Paused {
		paused = 1
	}
	g.gauge("opledger_effects_paused", "1 while effects are paused."+ofLedger, paused)
	g.gauge("opledger_problems", "What needs an operator, as opledger status says it."+ofLedger, float64(len(o.Problems)))
}

// showPending counts by states, of which an index has each with its collection: what is due has none.
func (g *gauges) showPending(ctx context.Context) error {
	var all error
	unfinished := slices.DeleteFunc(operation.States(), operation.State.Terminal)
	for _, c := range append(operation.Collections(), operation.Jobs) {
		n, err := g.Ledger.Operations.Count(ctx, ledger.Filter{Collection: c, States: unfinished})
		all = errors.Join(all, err)
		g.gauge("opledger_operations_pending", "Operations that have not ended."+ofLedger, float64(n.N),
			"collection", string(c))
	}
	return all
}

// showJobs shows nothing where there is no job.
func (g *gauges) showJobs(ctx context.Context) error {
	if n, err := g.Ledger.Operations.Count(ctx, ledger.Filter{Collection: operation.Jobs}); err != nil || n.N == 0 {
		return err
	}
	var all error
	for _, state := range operation.States() {
		n, err := g.Ledger.Operations.Count(ctx,
			ledger.Filter{Collection: operation.Jobs, States: []operation.State{state}})
		all = errors.Join(all, err)
		g.gauge("opledger_jobs", "Jobs by their state."+ofLedger, float64(n.N), "state", string(state))
	}
	running, err := g.Ledger.Jobs.Running(ctx)
	g.gauge("opledger_job_batches_running", "Batches of jobs that run, or are about to."+ofLedger,
		float64(len(running.Parts)))
	waiting, reserved := map[string]float64{}, map[string]float64{}
	for id := range running.Waiting {
		waiting[string(running.Wants[id].For)]++
	}
	for _, r := range running.Tokens {
		reserved[r.Model] = float64(running.Reserved(r.Model))
	}
	for what, n := range waiting {
		g.gauge("opledger_jobs_waiting", "Jobs that lack room for their next batch, by what they lack."+ofLedger, n,
			"for", what)
	}
	for model, n := range reserved {
		g.gauge("opledger_job_tokens_reserved", "Tokens of a model's quota that running batches have reserved."+ofLedger,
			n, "model", model)
	}
	return errors.Join(all, err)
}

// showFile shows how large the ledger's file is, and its write-ahead log.
func (g *gauges) showFile() {
	if g.File == "" {
		return
	}
	for file, name := range map[string]string{
		g.File: "opledger_sqlite_file_bytes", g.File + "-wal": "opledger_sqlite_wal_bytes",
	} {
		if info, err := os.Stat(file); err == nil {
			g.gauge(name, "The size of the file."+ofLedger, float64(info.Size()))
		}
	}
}

// gauge adds a gauge. labels are names and values in turn.
func (g *gauges) gauge(name, help string, value float64, labels ...string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	g.last = append(g.last, prometheus.MustNewConstMetric(
		prometheus.NewDesc(name, help, names, nil), prometheus.GaugeValue, value, values...))
}
