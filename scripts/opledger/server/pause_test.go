package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestResumeAgain: an end of the pause that could not be stored is stored once it is asked for again. Who ended it and
// why is logged once [G5].
func TestResumeAgain(t *testing.T) {
	t.Parallel()
	said := &strings.Builder{}
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1",
		Options{Log: slog.New(slog.NewTextHandler(said, nil))}, "OPLEDGER_EFFECTS_PAUSED=true")
	t.Cleanup(func() { _ = listener.Close() })
	s.StorePause(t.Context())
	ann := ledger.Decision{By: "ann", Why: "it-is-back"}
	left, cancel := context.WithCancel(t.Context())
	cancel()
	if ended, err := s.ResumeEffects(left, ann); !ended || err == nil {
		t.Errorf("%v, %v", ended, err)
	}
	if ended, err := s.ResumeEffects(t.Context(), ledger.Decision{By: "kim"}); ended || err != nil {
		t.Errorf("again: %v, %v", ended, err)
	}
	if last, _, err := s.Ledger.Passes.Last(t.Context()); err != nil || last.Effects != ledger.EffectsRunning {
		t.Errorf("effects are %q, %v", last.Effects, err)
	}
	if log := said.String(); strings.Count(log, "by=ann why=it-is-back") != 1 || strings.Contains(log, "kim") {
		t.Errorf("%s", log)
	}
}

// TestResumeMany: all that waited for the end of a pause is enqueued, also what does not fit into the queue at once.
// The end of the process ends that.
func TestResumeMany(t *testing.T) {
	t.Parallel()
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1", Options{},
		"OPLEDGER_EFFECTS_PAUSED=true")
	t.Cleanup(func() { _ = listener.Close() })
	for _, key := range []operation.Key{"batches/a", "batches/b", "batches/c"} {
		endOf(t, s.Ledger, key)
	}
	s.queue.messages = make(chan ledger.Message, 1)
	done := make(chan error)
	go func() { done <- s.enqueueWaiting(t.Context(), nil) }()
	seen := map[operation.Key]bool{}
	for len(seen) < 3 {
		select {
		case m := <-s.queue.messages:
			seen[m.Operation] = true
		case err := <-done:
			t.Fatalf("only %v, %v", seen, err)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	stop := make(chan struct{})
	close(stop)
	if err := s.enqueueWaiting(t.Context(), stop); err != nil { // without a reader
		t.Error(err)
	}
}
