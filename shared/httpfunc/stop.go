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

// The times of a stop, from SIGTERM on. Cloud Run kills the process 10 s after it, and so does
// Docker.
const (
	// FinishTime is how long what is in progress may take to end by itself. Then its context ends with
	// effect.ErrStopped, so that it records what became of it.
	FinishTime = 4 * time.Second
	// StopTime is when the process ends, whatever is still in progress.
	StopTime = 9 * time.Second
	// answerTime is how long the server has to send the last answer.
	answerTime = 200 * time.Millisecond
)

// A stopper ends the requests of a process that is told to stop. The framework's server cannot be
// told to shut down, so the process ends itself when they are over.
type stopper struct {
	log  *slog.Logger
	exit func(code int)

	mu         sync.Mutex
	inProgress int
	idle       chan struct{} // closed when it is stopping and no request is in progress

	// told ends at SIGTERM: nothing more is begun. over ends FinishTime later, and with it all requests.
	told, over context.Context //nolint:containedctx // of all requests
	tell       context.CancelFunc
	end        context.CancelCauseFunc
}

func newStopper(log *slog.Logger, exit func(code int)) *stopper {
	s := &stopper{log: log, exit: exit, idle: make(chan struct{})}
	s.told, s.tell = context.WithCancel(context.Background())
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

// begin returns a request whose context also ends with the process, see effect.WithStop, and what
// must be called at its end. It reports false for a process that is stopping, which begins nothing.
func (s *stopper) begin(r *http.Request) (_ *http.Request, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping() {
		return r, nil, false
	}
	s.inProgress++
	ctx, cancel := context.WithCancelCause(effect.WithStop(r.Context(), s.told))
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

func (s *stopper) stopping() bool { return s.told.Err() != nil }

func (s *stopper) closeIfIdle() {
	if s.stopping() && s.inProgress == 0 {
		close(s.idle)
	}
}

// stop lets the requests in progress end, and ends the process.
func (s *stopper) stop() {
	s.mu.Lock()
	s.tell()
	s.log.Info("SIGTERM: the process stops", "requests", s.inProgress)
	s.closeIfIdle()
	s.mu.Unlock()
	if !s.idleWithin(FinishTime) {
		s.end(effect.ErrStopped)
		s.idleWithin(StopTime - FinishTime - answerTime)
	}
	time.Sleep(answerTime)
	s.exit(0)
}

func (s *stopper) idleWithin(d time.Duration) bool {
	select {
	case <-s.idle:
		return true
	case <-time.After(d):
		return false
	}
}
