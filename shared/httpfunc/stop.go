package httpfunc

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/opledger/opledger/shared/effect"
)

// The times of a stop, from SIGTERM on. Cloud Run kills the process 10 s after it.
const (
	// finishTime is how long requests in progress may take to end by themselves. Then their contexts
	// end, so that each records what became of it.
	finishTime = 4 * time.Second
	// stopTime is when the process ends, whatever is still in progress.
	stopTime = 9 * time.Second
	// answerTime is how long the server has to send the last answer.
	answerTime = 200 * time.Millisecond
)

// A stopper ends the requests of a process that is told to stop. The framework's server cannot be
// told to shut down, so the process ends itself when they are over.
type stopper struct {
	log  *slog.Logger
	exit func(code int)

	mu         sync.Mutex
	stopping   bool
	inProgress int
	idle       chan struct{} // closed when it is stopping and no request is in progress

	over context.Context //nolint:containedctx // of all requests: it ends at the end of finishTime
	end  context.CancelCauseFunc
}

func newStopper(log *slog.Logger, exit func(code int)) *stopper {
	s := &stopper{log: log, exit: exit, idle: make(chan struct{})}
	s.over, s.end = context.WithCancelCause(context.Background())
	return s
}

// onSIGTERM makes the process stop at SIGTERM instead of ending at once.
func (s *stopper) onSIGTERM() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		<-told
		s.stop()
	}()
}

// begin returns a request whose context also ends with the process, and what must be called at its
// end. It reports false for a process that is stopping, which begins nothing.
func (s *stopper) begin(r *http.Request) (_ *http.Request, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return r, nil, false
	}
	s.inProgress++
	ctx, cancel := context.WithCancelCause(r.Context())
	release := context.AfterFunc(s.over, func() { cancel(context.Cause(s.over)) })
	return r.WithContext(ctx), func() {
		release()
		cancel(nil)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.inProgress--
		s.closeIfIdle()
	}, true
}

func (s *stopper) closeIfIdle() {
	if s.stopping && s.inProgress == 0 {
		close(s.idle)
	}
}

// stop lets the requests in progress end, and ends the process.
func (s *stopper) stop() {
	s.mu.Lock()
	s.stopping = true
	s.log.Info("SIGTERM: the process stops", "requests", s.inProgress)
	s.closeIfIdle()
	s.mu.Unlock()
	if !s.idleWithin(finishTime) {
		s.end(effect.ErrStopped)
		s.idleWithin(stopTime - finishTime - answerTime)
	}
	time.Sleep(answerTime)
	s.exit(0)
}

func (s *stopper) idleWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.idle:
		return true
	case <-timer.C:
		return false
	}
}
