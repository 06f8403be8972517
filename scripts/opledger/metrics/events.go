package metrics

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/opledger/opledger/scripts/stage/signals"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// Log returns a logger that counts each line, and hands it on. Lines at slog.LevelDebug are counted, too, where log
// drops them: a process that is quiet about passes that did nothing logs those there.
func (m *Metrics) Log(log *slog.Logger) *slog.Logger {
	return slog.New(counting{Handler: log.Handler(), events: m.events})
}

// counting is a handler that counts.
type counting struct {
	slog.Handler
	events *events
	fields []slog.Attr // that every line has
}

// Enabled implements [slog.Handler].
func (c counting) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (c counting) Handle(ctx context.Context, r slog.Record) error {
	l := line{"message": slog.StringValue(r.Message)}
	for _, a := range c.fields {
		l[a.Key] = a.Value
	}
	r.Attrs(func(a slog.Attr) bool {
		l[a.Key] = a.Value
		return true
	})
	c.events.count(l)
	if !c.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (c counting) WithAttrs(attrs []slog.Attr) slog.Handler {
	c.Handler, c.fields = c.Handler.WithAttrs(attrs), append(slices.Clip(c.fields), attrs...)
	return c
}

// WithGroup implements [slog.Handler]. No line of opledger has a group.
func (c counting) WithGroup(name string) slog.Handler {
	c.Handler = c.Handler.WithGroup(name)
	return c
}

// A line is the fields of a line of the log.
type line map[string]slog.Value

// text returns a field as it is printed; empty where the line does not have it.
func (l line) text(field string) string {
	if v, ok := l[field]; ok {
		return v.Resolve().String()
	}
	return ""
}

// number returns a field that is a number.
func (l line) number(field string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(l.text(field), 64)
	return n, err == nil
}

// A signal is a row of the table with its counter.
type signal struct {
	where   map[string][]string // a field must be one of these
	counter prometheus.Counter
}

func (s signal) counts(l line) bool {
	for field, words := range s.where {
		if !slices.Contains(words, l.text(field)) {
			return false
		}
	}
	return true
}

// events are the metrics of what happens.
type events struct {
	signals []signal
	all     []prometheus.Collector

	deliveries, refused, callers, lookups, effects, requests, tokens *counter

	settle, attempt, pass *prometheus.HistogramVec
}

func newEvents(table []signals.Signal) *events {
	e := &events{}
	for _, s := range table {
		if s.Job != "" || s.Alert != nil && s.Alert.Prometheus != "" {
			continue // serve prints no line of it
		}
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: s.Counter(), Help: s.About})
		e.all = append(e.all, c)
		where := map[string][]string{}
		for field, words := range s.Where {
			for _, word := range words {
				where[field] = append(where[field], fmt.Sprint(word))
			}
		}
		e.signals = append(e.signals, signal{where, c})
	}
	e.deliveries = e.counter("opledger_deliveries_total", "Deliveries with a valid signature, by what became of them.",
		"outcome", "reason")
	e.refused = e.counter("opledger_deliveries_refused_total", "Requests to the webhook that were refused.", "reason")
	e.callers = e.counter("opledger_callers_refused_total", "Requests to other routes that were refused.", "reason")
	e.lookups = e.counter("opledger_lookups_total", "Look-ups that passes made, by Gemini's answer.", "answer")
	e.effects = e.counter("opledger_effects_total", "Messages about effects, by what became of them.", "effect", "outcome")
	e.requests = e.counter("opledger_job_requests_total", "Requests of jobs that have ended, by their final outcome.",
		"outcome")
	e.tokens = e.counter("opledger_job_tokens_total", "Tokens of jobs that have ended, as Gemini counted them.",
		"model", "kind")
	e.settle = e.histogram("opledger_settle_duration_seconds",
		"From the submission of an operation to its terminal state in the ledger, by the path that brought that first.",
		[]float64{10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 259200}, "path")
	e.attempt = e.histogram("opledger_effect_attempt_duration_seconds", "How long attempts at effects take.",
		[]float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}, "effect")
	e.pass = e.histogram("opledger_pass_duration_seconds", "How long reconcile passes take.",
		[]float64{.005, .02, .1, .5, 1, 5, 15, 30, 60, 120, 240})
	return e
}

func (e *events) counter(name, help string, labels ...string) *counter {
	c := &counter{CounterVec: prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)}
	e.all = append(e.all, c)
	return c
}

func (e *events) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	e.all = append(e.all, h)
	return h
}

// count counts a line.
func (e *events) count(l line) {
	if _, repeats := l["idempotencyKey"]; repeats && l.text("event") == "alert" {
		return // an effect that logs alerts says again what was counted where it was raised
	}
	for _, s := range e.signals {
		if s.counts(l) {
			s.counter.Inc()
		}
	}
	switch l.text("event") {
	case "ingest", "quarantine":
		e.countIngest(l)
	case "auth":
		e.countRefusal(l)
	case "reconcile":
		e.countPass(l)
	case "effect":
		e.countEffect(l)
	case "job":
		e.countJob(l)
	}
}

func (e *events) countIngest(l line) {
	source := l.text("source")
	if source == string(operation.Webhook) {
		e.deliveries.of(l.text("outcome"), l.text("reason")).Inc()
	}
	if seconds, ok := l.number("settled_seconds"); ok {
		e.settle.WithLabelValues(source).Observe(seconds)
	}
}

// countRefusal counts a caller that was refused. The log has a sample of the deliveries: see [Metrics.CountRefused].
func (e *events) countRefusal(l line) {
	if l.text("outcome") == "refused" && l.text("source") != string(operation.Webhook) {
		e.callers.of(l.text("reason")).Inc()
	}
}

// answers are the counts of a pass, by what Gemini answered to so many look-ups.
func answers() map[string]string {
	return map[string]string{"settled": "settled", "running": "running", "unknown": "inconclusive", "missing": "not-found"}
}

func (e *events) countPass(l line) {
	if l.text("outcome") != "pass" {
		return
	}
	if ms, ok := l.number("duration_ms"); ok {
		e.pass.WithLabelValues().Observe(ms / millis)
	}
	for field, answer := range answers() {
		if n, ok := l.number(field); ok {
			e.lookups.of(answer).Add(n)
		}
	}
}

// millis is a second in the unit of duration_ms.
const millis = float64(time.Second / time.Millisecond)

func (e *events) countEffect(l line) {
	name := ledger.RuleOf(l.text("effect"))
	if name == "" || l.text("operation") == "" { // the line is about no message
		return
	}
	e.effects.of(name, l.text("outcome")).Inc()
	ms, timed := l.number("duration_ms")
	if attempt, _ := l.number("attempt"); timed && attempt > 0 {
		e.attempt.WithLabelValues(e.effects.known(name)).Observe(ms / millis)
	}
}

func (e *events) countJob(l line) {
	if l.text("outcome") != "ended" {
		return
	}
	for _, outcome := range []string{"done", "invalid", "truncated", "refused", "failed"} {
		if n, ok := l.number(outcome); ok {
			e.requests.of(outcome).Add(n)
		}
	}
	for _, kind := range []string{"input", "output", "thinking", "cached"} {
		if n, ok := l.number(kind); ok {
			e.tokens.of(l.text("model"), kind).Add(n)
		}
	}
}

// A counter has a bound on its series: what callers send must not fill the memory of Prometheus.
type counter struct {
	*prometheus.CounterVec

	mu   sync.Mutex
	seen map[string]bool
}

const (
	// mostSeries bounds the series of one counter.
	mostSeries = 200
	// other stands for the labels of every further one.
	other = "other"
)

// of returns the counter of these values of its labels.
func (c *counter) of(values ...string) prometheus.Counter {
	if !c.admit(strings.Join(values, "\x00")) {
		for i := range values {
			values[i] = other
		}
	}
	return c.WithLabelValues(values...)
}

// known returns a value that another metric has for its only label, or what stands for one too many.
func (c *counter) known(value string) string {
	if c.admit(value) {
		return value
	}
	return other
}

// admit reports whether there is room for a text, or it is there.
func (c *counter) admit(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	if !c.seen[text] && len(c.seen) >= mostSeries {
		return false
	}
	c.seen[text] = true
	return true
}
