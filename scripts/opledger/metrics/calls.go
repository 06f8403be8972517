package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/opledger/opledger/shared/ledger"
)

// calls are the metrics of what the store is asked.
type calls struct {
	errors *prometheus.CounterVec
	commit prometheus.Histogram
}

func newCalls() *calls {
	c := &calls{
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "opledger_store_errors_total",
			Help: "Calls of the store that failed. A conflict is usual: the call is decided again.",
		}, []string{"call", "error"}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "opledger_store_commit_duration_seconds", Help: "How long commits to the store take, also those that fail.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}),
	}
	for _, call := range []string{"get", "commit", "query", "count"} {
		for _, kind := range []string{"conflict", "unavailable", "invalid", "other"} {
			c.errors.WithLabelValues(call, kind) // zero, so that the first one is an increase
		}
	}
	return c
}

// Store returns a store whose errors are counted, and the time of whose commits is measured.
func (m *Metrics) Store(store ledger.Store) ledger.Store { return counted{store, m.calls} }

// counted is a store whose calls are counted.
type counted struct {
	ledger.Store
	calls *calls
}

// Get implements [ledger.Store].
func (c counted) Get(ctx context.Context, paths ...ledger.Path) (ledger.Snapshot, error) {
	snapshot, err := c.Store.Get(ctx, paths...)
	c.failed(ctx, "get", err)
	return snapshot, err
}

// Commit implements [ledger.Store].
func (c counted) Commit(ctx context.Context, writes ...ledger.Write) ([]ledger.Token, error) {
	began := time.Now()
	tokens, err := c.Store.Commit(ctx, writes...)
	c.calls.commit.Observe(time.Since(began).Seconds())
	c.failed(ctx, "commit", err)
	return tokens, err
}

// Query implements [ledger.Store].
func (c counted) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	found, err := c.Store.Query(ctx, q)
	c.failed(ctx, "query", err)
	return found, err
}

// Count implements [ledger.Store].
func (c counted) Count(ctx context.Context, q ledger.Query, ceiling int) (int, error) {
	n, err := c.Store.Count(ctx, q, ceiling)
	c.failed(ctx, "count", err)
	return n, err
}

// failed counts a call that failed, unless its caller has left.
func (c counted) failed(ctx context.Context, call string, err error) {
	kind := "other"
	switch {
	case err == nil, errors.Is(ctx.Err(), context.Canceled):
		return
	case errors.Is(err, ledger.ErrConflict):
		kind = "conflict"
	case errors.Is(err, ledger.ErrUnavailable):
		kind = "unavailable"
	case errors.Is(err, ledger.ErrInvalid):
		kind = "invalid"
	}
	c.calls.errors.WithLabelValues(call, kind).Inc()
}
