package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/opledger/opledger/scripts/opledger/metrics"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// A world is the metrics of a process with its ledger in a file.
type world struct {
	*testing.T
	metrics *metrics.Metrics
	clock   *harness.Clock
	store   *flaky
	ledger  *ledger.Ledger
	file    string
	written *harness.Log
	log     *slog.Logger
	page    http.Handler
}

// flaky is a store that can be unavailable.
type flaky struct {
	ledger.Store
	down  bool
	calls int
}

func (f *flaky) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	if f.calls++; f.down {
		return ledger.Snapshot{}, ledger.ErrUnavailable
	}
	return f.Store.Get(ctx, paths...)
}

func (f *flaky) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	f.calls++
	return f.Store.Query(ctx, q)
}

func (f *flaky) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	f.calls++
	return f.Store.Count(ctx, q, ceiling)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	m, err := metrics.New()
	must(t, err)
	w := &world{T: t, metrics: m, clock: harness.NewClock(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)),
		file: filepath.Join(t.TempDir(), "ledger.db"), written: &harness.Log{}}
	file, err := sqlite.Open(t.Context(), w.file, w.clock.Now)
	must(t, err)
	t.Cleanup(func() { must(t, file.Close()) })
	w.store = &flaky{Store: file}
	w.ledger, err = ledger.New(m.Store(w.store), ledger.DefaultSettings(), ledger.Options{})
	must(t, err)
	w.log = m.Log(logging.New(w.written, ""))
	m.Watch(metrics.Watched{
		Ledger: w.ledger.Reading(), Interval: 5 * time.Minute, File: w.file, Now: w.clock.Now, Log: w.log,
	})
	w.page = m.Handler(10*time.Minute, w.log)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// get returns a page.
func (w *world) get(path string) string {
	w.Helper()
	answer := httptest.NewRecorder()
	w.page.ServeHTTP(answer, httptest.NewRequestWithContext(w.Context(), http.MethodGet, path, nil))
	if answer.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// has checks that a scrape has these samples.
func (w *world) has(samples ...string) {
	w.Helper()
	page := "\n" + w.get("/metrics")
	for _, sample := range samples {
		if !strings.Contains(page, "\n"+sample+"\n") {
			name, _, _ := strings.Cut(sample, " ")
			name, _, _ = strings.Cut(name, "{")
			var near []string
			for line := range strings.Lines(page) {
				if strings.HasPrefix(line, name) {
					near = append(near, line)
				}
			}
			w.Errorf("no %s, but %q", sample, near)
		}
	}
}

// TestEvents: each line is counted in every metric that it is about, whatever the log writes of it.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.has("opledger_signal_effects_dead_total 0", "opledger_signal_passes_total 0")
	w.log.With("source", operation.Webhook).InfoContext(ctx, "delivery accepted", "event", "ingest", "outcome",
		ledger.Applied, "reason", "advanced", "registered", true, "announced", true, "settled_seconds", 90.0)
	w.log.InfoContext(ctx, "looked up", "event", "ingest", "source", operation.Reconcile, "outcome", ledger.Applied,
		"settled_seconds", 4000.0)
	w.log.WarnContext(ctx, "delivery refused", "source", operation.Webhook, "event", "auth", "outcome", "refused",
		"reason", "signature")
	for range 3 { // of which the log has a sample, and then how many more there were
		w.metrics.CountRefused("signature")
	}
	w.log.WarnContext(ctx, "more", "event", "refusals", "reason", "signature", "refused", 2)
	w.log.WarnContext(ctx, "a caller was refused", "event", "auth", "outcome", "refused", "reason", "token")
	w.log.DebugContext(ctx, "reconciled", "event", "reconcile", "outcome", "pass", "duration_ms", 250,
		"checked", 6, "settled", 1, "running", 3, "unknown", 0, "missing", 2, "more", true)
	effect := w.log.With("event", "effect", "operation", "batches/a", "effect", "page@stuck-1")
	effect.ErrorContext(ctx, "effect", "outcome", "dead", "attempt", 3, "duration_ms", 40)
	effect.InfoContext(ctx, "effect", "outcome", "skipped", "attempt", 0, "duration_ms", 1)
	w.log.WarnContext(ctx, "effects are planned and not run", "event", "effect", "outcome", "paused")
	ended := ledger.Advanced{Job: job.Job{
		Options: job.Options{Model: "models/gemini-3.5-flash"},
		Counts:  job.Counts{Done: 8, Failed: 2}, Usage: job.Usage{Input: 100, Output: 30, Thinking: 7},
	}}
	w.log.InfoContext(ctx, "a job has ended", ended.LogAttrs()...)
	w.has(
		`opledger_deliveries_total{outcome="applied",reason="advanced"} 1`,
		`opledger_deliveries_refused_total{reason="signature"} 3`, `opledger_callers_refused_total{reason="token"} 1`,
		`opledger_settle_duration_seconds_sum{path="webhook"} 90`,
		`opledger_settle_duration_seconds_bucket{path="reconcile",le="7200"} 1`,
		`opledger_lookups_total{answer="running"} 3`, `opledger_lookups_total{answer="not-found"} 2`,
		`opledger_lookups_total{answer="settled"} 1`, `opledger_pass_duration_seconds_sum 0.25`,
		`opledger_effects_total{effect="page",outcome="dead"} 1`,
		`opledger_effects_total{effect="page",outcome="skipped"} 1`,
		`opledger_effect_attempt_duration_seconds_count{effect="page"} 1`,
		`opledger_job_requests_total{outcome="done"} 8`, `opledger_job_requests_total{outcome="failed"} 2`,
		`opledger_job_tokens_total{kind="input",model="gemini-3.5-flash"} 100`,
		`opledger_job_tokens_total{kind="thinking",model="gemini-3.5-flash"} 7`,
		"opledger_signal_effects_dead_total 1", "opledger_signal_passes_total 1", "opledger_signal_behind_total 1",
		"opledger_signal_arrivals_total 2", "opledger_signal_refused_total 1", "opledger_signal_ends_total 1",
	)
	if lines := w.written.Drain(t); len(lines) != 9 {
		t.Errorf("%d lines are written, want those above slog.LevelDebug: %v", len(lines), lines)
	}
}

// TestBound: what callers send makes only so many series.
func TestBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 1000 {
		w.log.InfoContext(t.Context(), "effect", "event", "effect", "operation", "batches/a", "effect",
			fmt.Sprintf("e%d", i), "outcome", "unknown", "attempt", 1, "duration_ms", 1)
	}
	page := w.get("/metrics")
	if n := strings.Count(page, "\nopledger_effects_total{"); n > 201 {
		t.Errorf("%d series", n)
	}
	if n := strings.Count(page, "\nopledger_effect_attempt_duration_seconds_count{"); n > 201 {
		t.Errorf("%d histograms", n)
	}
	w.has(`opledger_effects_total{effect="other",outcome="other"} 900`)
}

// TestGauges: the state of the ledger is that of a reading, which is made once in some seconds.
func TestGauges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for _, name := range []string{"batches/a", "batches/b", "interactions/c"} {
		parsed, err := operation.ParseName(name, "")
		must(t, err)
		_, err = w.ledger.Operations.Register(ctx, ledger.Registration{Name: parsed})
		must(t, err)
	}
	w.has(`opledger_operations_pending{collection="batches"} 2`,
		`opledger_operations_pending{collection="interactions"} 1`,
		`opledger_operations_pending{collection="jobs"} 0`, "opledger_effects_open 0", "opledger_ledger_readable 1",
		"opledger_operations_pending_oldest_timestamp_seconds 1.7958672e+09", "opledger_problems 0")
	if strings.Contains(w.get("/metrics"), "opledger_jobs{") {
		t.Error("there are gauges of jobs, and no job")
	}
	_, err := w.ledger.Jobs.Submit(ctx, ledgertest.JobRequest(4, job.Options{}))
	must(t, err)
	made := w.store.calls
	for range 5 {
		w.has(`opledger_operations_pending{collection="jobs"} 0`)
	}
	if w.store.calls != made {
		t.Errorf("%d calls of the store for scrapes within a second", w.store.calls-made)
	}
	w.clock.Advance(10 * time.Second)
	w.has(`opledger_operations_pending{collection="jobs"} 1`, `opledger_jobs{state="PENDING"} 1`,
		`opledger_jobs{state="FAILED"} 0`, "opledger_job_batches_running 0")
	if calls := w.store.calls - made; calls > 60 {
		t.Errorf("a reading makes %d calls", calls)
	}
	w.clock.Advance(10 * time.Second)
	w.store.down = true
	w.has("opledger_ledger_readable 0") // within a scrape, errors may be counted before the ledger is read
	w.has(`opledger_store_errors_total{call="get",error="unavailable"} 1`)
	page := w.get("/metrics")
	for _, gone := range []string{"opledger_effects_open", "opledger_operations_pending"} {
		if strings.Contains(page, "\n"+gone) {
			t.Errorf("%s is shown of a ledger that cannot be read", gone)
		}
	}
	if info, err := os.Stat(w.file); err != nil ||
		!strings.Contains(page, fmt.Sprintf("\nopledger_sqlite_file_bytes %d\n", info.Size())) {
		t.Errorf("the size of the file is not shown: %v", err)
	}
}

// TestStore: failed calls are counted by what kept them, and commits are timed.
func TestStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := w.metrics.Store(w.store)
	write := ledger.Write{Path: ledger.OperationPath("batches/a"), Data: struct{}{}}
	_, err := store.Commit(t.Context(), write)
	must(t, err)
	if _, err = store.Commit(t.Context(), write); !errors.Is(err, ledger.ErrConflict) {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, _ = store.Count(gone, ledger.Query{}, 1)
	w.has(`opledger_store_errors_total{call="commit",error="conflict"} 1`,
		"opledger_store_commit_duration_seconds_count 2",
		`opledger_store_errors_total{call="count",error="other"} 0`)
}

// TestNames: the names are as Prometheus advises, ours begin with opledger_, and no label is one that a scrape sets.
func TestNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.ledger.Jobs.Submit(t.Context(), ledgertest.JobRequest(4, job.Options{}))
	must(t, err)
	page := w.get("/metrics")
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	must(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for line := range strings.Lines(page) {
		if strings.Contains(line, "batches/") || strings.Contains(line, "jobs/") || strings.Contains(line, "{job=") ||
			strings.Contains(line, ",job=") || strings.Contains(line, "instance=") {
			t.Errorf("a name of an operation, or a label of the scrape: %s", line)
		}
		if strings.HasPrefix(line, "# HELP opledger_") && strings.Contains(line, " of the ledger: ") &&
			!strings.Contains(line, "max") {
			t.Errorf("it does not say how to aggregate: %s", line)
		}
	}
	if !strings.Contains(page, "\nopledger_build_info{goversion=") {
		t.Error("no opledger_build_info")
	}
}

// TestAlerts: the rules that a process prints are for its own interval.
func TestAlerts(t *testing.T) {
	t.Parallel()
	if rules := newWorld(t).get("/alerts.yml"); !strings.Contains(rules, "opledger_signal_stuck_total[20m]") {
		t.Errorf("with passes every 10 minutes the alert on stuck operations is not on two of them: %s", rules)
	}
}

// TestNotInFunctions: the deployed functions do not link the client of Prometheus, which their start would wait for.
func TestNotInFunctions(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "./functions/...", "./shared/...")
	list.Dir = filepath.Join("..", "..", "..")
	out, err := list.Output()
	must(t, err)
	if !strings.Contains(string(out), "opledger/shared/cloud\n") {
		t.Fatalf("listed are %s", out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "prometheus") {
			t.Errorf("a function links %s", line)
		}
	}
}
