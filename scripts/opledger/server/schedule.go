package server

import (
	"context"
	"net/http"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
	"github.com/opledger/opledger/shared/reconcile"
)

// schedule makes reconcile passes, as Cloud Scheduler does for the deployed function. Without
// passes it sweeps: nothing else retries an effect whose message was acknowledged. It begins at
// once: a process that never lives as long as the interval must still retry what an earlier process
// dropped [R5, R6]. What found the queue full is swept when that is empty, however long the interval is.
func (s *Server) schedule(ctx context.Context) {
	every, do := s.options.Schedule, s.pass
	if every == 0 || s.Reconciler == nil {
		every, do = s.Ledger.Settings().Interval, func(ctx context.Context) { _, _ = s.sweep(ctx) }
	}
	round := func() {
		do(ctx)
		s.expire(ctx)
		s.checkAgain(ctx)
	}
	tick := time.Tick(every)
	round()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			round()
		case <-s.queue.room:
			_, _ = s.sweep(ctx)
		}
	}
}

// pass drops the error, which is in the log; the next pass is due anyway. One that settled something shows whether it
// was Gemini's own deliveries that were refused, so that this is known now [W1].
func (s *Server) pass(ctx context.Context) {
	if summary, _ := s.reconcile.Pass(ctx); summary.Settled > 0 {
		s.storeRefusals(ctx)
	}
}

// serveSweep publishes due effects now, for a command that has planned or reopened some.
func (s *Server) serveSweep(w http.ResponseWriter, r *http.Request) {
	summary, err := s.sweep(r.Context())
	httpfunc.WriteResult(w, http.StatusOK, summary, err)
}

// sweep publishes due effects again, and logs it if there were any. The error is in the log, too.
func (s *Server) sweep(ctx context.Context) (reconcile.Summary, error) {
	summary, err := s.sweeper.Sweep(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		s.options.Log.ErrorContext(ctx, "due effects could not be swept", "event", "reconcile", "outcome", "error", "error",
			err)
	case summary.EffectsRequeued > 0:
		s.options.Log.With(summary.LogAttrs()...).InfoContext(ctx, "swept", "event", "reconcile", "outcome", "sweep")
	}
	return summary, err
}

// expire deletes expired documents [L3], uploads that no job has, and what crashes left in job storage.
func (s *Server) expire(ctx context.Context) {
	if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
		s.options.Log.ErrorContext(ctx, "job storage cannot be checked", "event", "job", "outcome", "error", "error", err)
	}
	if s.uploads != nil {
		if err := s.uploads.expire(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.ErrorContext(ctx, "expired uploads stay", "event", "job", "outcome", "error", "error", err)
		}
	}
	if s.options.Expire == nil {
		return
	}
	if n, err := s.options.Expire(ctx); err != nil && ctx.Err() == nil {
		s.options.Log.ErrorContext(ctx, "expired documents stay", "error", err)
	} else if n > 0 {
		s.options.Log.InfoContext(ctx, "expired documents deleted", "documents", n)
	}
}
