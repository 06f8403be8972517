package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A replayWorld replays the dead effects of a ledger, through a queue that a worker empties while the
// command waits.
type replayWorld struct {
	t         *testing.T
	variables []string

	mu      sync.Mutex
	refused string         // an idempotency key
	calls   map[string]int // of the receiver, by key
	called  func()         // after each call; nil: nothing
}

func newReplayWorld(t *testing.T, names ...string) *replayWorld {
	t.Helper()
	f := newFile(t)
	f.dead(names...)
	w := &replayWorld{t: t, calls: map[string]int{}}
	receiver := httptest.NewServer(w)
	t.Cleanup(receiver.Close)
	w.variables = []string{
		"OPLEDGER_STORE=" + f.store(), "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '" + receiver.URL + "'}]",
	}
	return w
}

func (w *replayWorld) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if w.calls[key]++; w.refused == key {
		answer.WriteHeader(http.StatusGone)
	}
	if w.called != nil {
		w.called()
	}
}

// replay makes one call of replay --dead. waits is called while it waits, with the worker's turn and
// the interrupt. The error is what stderr would say.
func (w *replayWorld) replay(r replayer, waits func(worker, interrupt func())) said {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var out, stderr bytes.Buffer
	outside := environment{variables: w.variables, in: strings.NewReader(""), out: &out, err: &stderr}
	err := change(ctx, outside, "", func(wr writer) error {
		outside.wait = func(ctx context.Context, _ time.Duration) error {
			waits(func() { wr.Drain(ctx) }, cancel)
			return ctx.Err()
		}
		if w.called = nil; r.topic == "" {
			w.called = func() { waits(nil, cancel) }
		}
		r.outside, r.server, r.yes, r.by = outside, wr.Server, true, "ops"
		selection := replaySelection{dead: true}
		if err := selection.parse(nil, time.Now()); err != nil {
			return err
		}
		return r.replay(ctx, selection, "")
	})
	s := said{out: out.String()}
	if err != nil {
		s.err = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return s
}

// works lets the worker do what there is.
func works(worker, _ func()) { worker() }

// TestReplayWaits: with a topic a replay waits until every effect is done or dead again, and ends in
// what became of them. One that has been dead since before has no outcome yet [G5].
func TestReplayWaits(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a", "batches/b", "batches/c")
	w.refused = "gemini:batches/b#log"
	s := w.replay(replayer{topic: "effects"}, works)
	if want := "batches/c  log  done\nbatches/b  log  dead\nbatches/a  log  done\n" +
		"published 3 messages for 3 effects of 3 operations\n2 done, 1 dead again\n"; s.out != want {
		t.Errorf("%q, want %q", s.out, want)
	}
	if want := "not done: 1 of 3 effects; opledger list --dead says why"; s.err != want {
		t.Errorf("%q, want %q", s.err, want)
	}
	w.refused = ""
	if s = w.replay(replayer{topic: "effects"}, works); s.err != "" || !strings.HasSuffix(s.out, "\n1 done\n") {
		t.Errorf("%+v", s)
	}
}

// TestReplayGone: an effect that has no document, such as one that was deleted meanwhile, is not
// waited for without end [G5].
func TestReplayGone(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a")
	looks := 0
	s := w.replay(replayer{topic: "effects"}, func(_, interrupt func()) {
		if looks++; looks == 1 {
			cli(t, w.variables, "forget", "batches/a", "--yes").want(t, exitDone)
		}
		if looks > 2*mostLooks {
			interrupt()
		}
	})
	if want := "batches/a  log  never planned\n"; !strings.HasPrefix(s.out, want) ||
		!strings.HasPrefix(s.err, "not done: 1 of 1 effect") || looks > mostLooks {
		t.Errorf("after %d looks %+v", looks, s)
	}
}

// TestReplayUnwatched: a replay that is told not to wait, or not for ever, says what it does not
// know.
func TestReplayUnwatched(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a")
	never := func(_, _ func()) { t.Error("it waits") }
	s := w.replay(replayer{topic: "effects", noWait: true}, never)
	if s.err != "" || !strings.HasSuffix(s.out, "opledger status what is dead again\n") {
		t.Errorf("%+v", s)
	}
	w = newReplayWorld(t, "batches/a")
	s = w.replay(replayer{topic: "effects", timeout: time.Nanosecond}, works)
	if want := "the outcome of 1 of 1 effect is not known: --timeout was over after 1ns; it goes on, and opledger " +
		"status says how many are open"; s.err != want {
		t.Errorf("%q, want %q", s.err, want)
	}
}

// TestReplayInterrupted: a replay that is interrupted says how far it came, and how to go on.
func TestReplayInterrupted(t *testing.T) {
	t.Parallel()
	for topic, want := range map[string]string{
		"effects": "the outcome of 3 of 3 effects is not known: it was interrupted; they go on, and opledger status says " +
			"how many are open",
		"": "0 of 3 effects were run, then: it was interrupted; the same command again is safe, and selects what is left " +
			"by then",
	} {
		w := newReplayWorld(t, "batches/a", "batches/b", "batches/c")
		s := w.replay(replayer{topic: topic}, func(_, interrupt func()) { interrupt() })
		if s.err != want {
			t.Errorf("%q, want %q", s.err, want)
		}
	}
}
