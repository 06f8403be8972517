// Package reconcile is the HTTP function that Cloud Scheduler calls with OIDC every few minutes.
// Each call makes one pass [R1].
package reconcile

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/reconcile"
)

// Options are what the function works with.
type Options struct {
	Reconciler *reconcile.Reconciler
	Now        func() time.Time
	Log        *slog.Logger
	// Quiet logs a pass that did nothing at slog.LevelDebug, which the logs of opledger leave out.
	Quiet bool
}

// A Function makes passes.
type Function Options

// New returns the function.
func New(o Options) Function { return Function(o) }

// ServeHTTP makes a pass. It answers 200 with the pass's summary, and 503 if nothing could be read.
func (f Function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httpfunc.OnlyPOST(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		summary, err := f.Pass(r.Context())
		httpfunc.WriteResult(w, http.StatusOK, summary, err)
	})).ServeHTTP(w, r)
}

// Pass makes a pass and logs its summary, see Options.Quiet. The error is the reconciler's.
func (f Function) Pass(ctx context.Context) (reconcile.Summary, error) {
	began := f.Now()
	summary, err := f.Reconciler.Pass(ctx)
	duration := f.Now().Sub(began).Milliseconds()
	if err != nil {
		f.Log.ErrorContext(ctx, "nothing could be reconciled", "event", "reconcile", "outcome", "error",
			"error", err, "duration_ms", duration)
		return summary, err
	}
	level := slog.LevelInfo
	if f.Quiet && summary == (reconcile.Summary{}) {
		level = slog.LevelDebug
	}
	f.Log.With(summary.LogAttrs()...).Log(ctx, level, "reconciled", "event", "reconcile", "outcome", "pass",
		"duration_ms", duration)
	return summary, nil
}
