package httpfunc

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/effect"
)

// inStop calls test in a bubble with a stopper, and with what returns when it has ended the
// process: 0 if it has not.
func inStop(t *testing.T, test func(t *testing.T, s *stopper, ended func() time.Duration)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, exits := time.Now(), make(chan time.Duration, 1)
		s := newStopper(slog.New(slog.DiscardHandler), func(code int) {
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
			exits <- time.Since(began)
		})
		test(t, s, func() time.Duration {
			select {
			case after := <-exits:
				return after
			default:
				return 0
			}
		})
	})
}

func (s *stopper) request(t *testing.T) (ctx context.Context, done func(), ok bool) {
	t.Helper()
	r, done, ok := s.begin(httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody))
	return r.Context(), done, ok
}

// TestStopIdle: a process without requests ends at once, and begins none meanwhile.
func TestStopIdle(t *testing.T) {
	inStop(t, func(t *testing.T, s *stopper, ended func() time.Duration) {
		_, done, _ := s.request(t)
		done()
		go s.stop()
		synctest.Wait()
		if _, _, ok := s.request(t); ok {
			t.Error("it began a request")
		}
		time.Sleep(answerTime)
		synctest.Wait()
		if after := ended(); after != answerTime {
			t.Errorf("ended after %v", after)
		}
	})
}

// TestStopFinishes: a request that ends in time is not interrupted.
func TestStopFinishes(t *testing.T) {
	inStop(t, func(t *testing.T, s *stopper, ended func() time.Duration) {
		ctx, done, _ := s.request(t)
		go s.stop()
		time.Sleep(FinishTime - time.Second)
		if ctx.Err() != nil || ended() != 0 {
			t.Errorf("%v, or the process ended", ctx.Err())
		}
		done()
		time.Sleep(answerTime)
		synctest.Wait()
		if after := ended(); after != FinishTime-time.Second+answerTime {
			t.Errorf("ended after %v", after)
		}
	})
}

// TestStopInterrupts: a longer request is told at once to begin nothing more, and later why its
// context ends, while there is time to record that. The process waits for it.
func TestStopInterrupts(t *testing.T) {
	inStop(t, func(t *testing.T, s *stopper, ended func() time.Duration) {
		ctx, done, _ := s.request(t)
		if effect.Stopping(ctx).Err() != nil {
			t.Error("it is told to stop before the process is")
		}
		go s.stop()
		synctest.Wait()
		if effect.Stopping(ctx).Err() == nil || ctx.Err() != nil {
			t.Errorf("it may begin more, or is interrupted at once: %v", ctx.Err())
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), effect.ErrStopped) {
			t.Errorf("the cause is %v", context.Cause(ctx))
		}
		time.Sleep(3 * time.Second) // to record it
		if ended() != 0 {
			t.Error("the process ended before the request")
		}
		done()
		time.Sleep(answerTime)
		synctest.Wait()
		if after := ended(); after != FinishTime+3*time.Second+answerTime {
			t.Errorf("ended after %v", after)
		}
	})
}

// TestStopEnds: the process ends before Cloud Run kills it, whatever a request does.
func TestStopEnds(t *testing.T) {
	inStop(t, func(t *testing.T, s *stopper, ended func() time.Duration) {
		_, done, _ := s.request(t)
		defer done()
		go s.stop()
		time.Sleep(StopTime)
		synctest.Wait()
		if after := ended(); after != StopTime || after >= 10*time.Second {
			t.Errorf("ended after %v", after)
		}
	})
}
