package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// A fullDisk is a store that nothing can be written to or read from.
type fullDisk struct{ ledger.Store }

func (fullDisk) Get(context.Context, ...ledger.Path) (ledger.Snapshot, error) {
	return ledger.Snapshot{}, fmt.Errorf("%w: database or disk is full", ledger.ErrUnavailable)
}

// lines counts the lines of a log.
type lines struct {
	mu sync.Mutex
	n  int
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += strings.Count(string(text), "\n")
	return len(text), nil
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// TestFullDisk: 21 open effects on a full disk are no more than a line a minute, after the first, and
// not one for each of their attempts.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		settings, err := config.Parse[Settings]([]string{"GEMINI_API_KEY=k"})
		if err != nil {
			t.Fatal(err)
		}
		said := &lines{}
		s, err := New(t.Context(), settings, Options{
			Store: fullDisk{}, Now: time.Now, Log: slog.New(slog.NewTextHandler(said, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 21 {
			m := ledger.Message{Operation: "batches/a", Effect: fmt.Sprintf("e%d", i), Attempt: 1}
			if err := s.queue.Publish(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.queue.Run(ctx, ctx, defaultWorkers, s.run)
		}()
		time.Sleep(5 * time.Minute)
		first := said.count()
		time.Sleep(time.Hour)
		if n := said.count() - first; first > 25 || n < 50 || n > 61 {
			t.Errorf("%d lines in the first 5 minutes, %d in the hour after", first, n)
		}
		cancel()
		<-ended
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestOutageEnds: with the first attempt that is recorded all the others are made again.
func TestOutageEnds(t *testing.T) {
	t.Parallel()
	var o outage
	now := time.Unix(1e9, 0)
	down := fmt.Errorf("claiming: %w", ledger.ErrUnavailable)
	begins := func(wantTries bool, wantPutOff time.Duration) {
		t.Helper()
		if tries, putOff := o.begin(now); tries != wantTries || putOff != wantPutOff {
			t.Errorf("tries %v, put off for %v, want %v, %v", tries, putOff, wantTries, wantPutOff)
		}
	}
	begins(false, 0)
	o.end(now, false, down)
	o.end(now, false, down) // in progress beside it
	begins(false, time.Second)
	now = now.Add(time.Second)
	begins(true, 0)
	begins(false, time.Second) // one tries for all
	o.end(now, true, down)
	begins(false, 2*time.Second)
	now = now.Add(-time.Hour)
	begins(false, maxOutageWait)
	now = now.Add(time.Hour + 2*time.Second)
	begins(true, 0)
	o.end(now, true, errors.New("the effect's own"))
	begins(false, 0)
	o.end(now, false, nil)
	begins(false, 0)
}
