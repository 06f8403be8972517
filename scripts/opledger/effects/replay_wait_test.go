package effects_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/effects"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// A replayWorld replays the dead effects of a ledger, through a queue that a worker empties while the
// command waits.
type replayWorld struct {
	t         *testing.T
	variables []string
	host      string // of the receiver

	mu          sync.Mutex
	refused     string         // an idempotency key, or all
	unavailable bool           // the receiver answers 503
	calls       map[string]int // of the receiver, by key
	called      func()         // after each call; nil: nothing
}

func newReplayWorld(t *testing.T, names ...string) *replayWorld {
	t.Helper()
	f := commandtest.NewFile(t)
	f.Dead(names...)
	w := &replayWorld{t: t, calls: map[string]int{}}
	receiver := httptest.NewServer(w)
	t.Cleanup(receiver.Close)
	w.host = strings.TrimPrefix(receiver.URL, "http://")
	w.variables = []string{
		"OPLEDGER_STORE=" + f.Store(), "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_EFFECTS=[{name: log, on: [SUCCEEDED], do: http, url: '" + receiver.URL + "'}]",
	}
	return w
}

func (w *replayWorld) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	if w.calls[key]++; w.refused == key || w.refused == "all" {
		answer.WriteHeader(http.StatusGone)
	} else if w.unavailable {
		answer.WriteHeader(http.StatusServiceUnavailable)
	}
	if w.called != nil {
		w.called()
	}
}

// replay makes one call of replay --dead. waits is called while it waits, with the worker's turn and
// the interrupt. The error is what stderr would say.
func (w *replayWorld) replay(r effects.ReplayOfDead, waits func(worker, interrupt func())) commandtest.Said {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	var out, stderr bytes.Buffer
	outside := terminal.Environment{Variables: w.variables, In: strings.NewReader(""), Out: &out, Err: &stderr}
	err := open.Change(ctx, outside, func(wr open.Writer) error {
		outside.Wait = func(ctx context.Context, _ time.Duration) error {
			waits(func() { wr.Drain(ctx) }, cancel)
			return ctx.Err()
		}
		if w.called = nil; r.Topic == "" {
			w.called = func() { waits(nil, cancel) }
		}
		return r.Run(ctx, outside, wr)
	})
	s := commandtest.Said{Out: out.String()}
	if err != nil {
		s.Err = strings.ReplaceAll(err.Error(), "\n", "; ")
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
	s := w.replay(effects.ReplayOfDead{Topic: "effects"}, works)
	if want := "batches/c  log  done\nbatches/b  log  dead\nbatches/a  log  done\n" +
		"published 3 messages for 3 effects of 3 operations\n2 done, 1 dead again\n"; s.Out != want {
		t.Errorf("%q, want %q", s.Out, want)
	}
	if want := "not done: 1 of 3 effects; opledger list --dead says why"; s.Err != want {
		t.Errorf("%q, want %q", s.Err, want)
	}
	w.refused = ""
	if s = w.replay(effects.ReplayOfDead{Topic: "effects"}, works); s.Err != "" ||
		!strings.HasSuffix(s.Out, "\n1 done\n") {
		t.Errorf("%+v", s)
	}
}

// TestReplayGone: an effect that has no document, such as one that was deleted meanwhile, is not
// waited for without end [G5].
func TestReplayGone(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a")
	looks := 0
	s := w.replay(effects.ReplayOfDead{Topic: "effects"}, func(_, interrupt func()) {
		if looks++; looks == 1 {
			commandtest.Run(t, w.variables, "forget", "batches/a", "--yes").Want(t, terminal.ExitDone)
		}
		if looks > 2*effects.MostLooks {
			interrupt()
		}
	})
	if want := "batches/a  log  never planned\n"; !strings.HasPrefix(s.Out, want) ||
		!strings.HasPrefix(s.Err, "not done: 1 of 1 effect") || looks > effects.MostLooks {
		t.Errorf("after %d looks %+v", looks, s)
	}
}

// TestReplayWaitsForSibling: a rerun that waits for another run in progress says so [S6].
func TestReplayWaitsForSibling(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a")
	called, release := make(chan struct{}, 1), make(chan struct{})
	w.called = func() {
		called <- struct{}{}
		<-release
	}
	serve := commandtest.Serving(t, w.variables, "--schedule=false")
	defer serve.Stop()
	defer close(release)
	again := []string{"replay", "batches/a", "--effect", "log", "--yes"}
	commandtest.Run(t, w.variables[:1], append(again, "--rerun=one", "--no-wait")...).Want(t, terminal.ExitDone)
	<-called
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	var stderr bytes.Buffer
	code := root.Run(ctx, append(again, "--rerun=two"), terminal.Environment{
		Variables: w.variables[:1], In: strings.NewReader(""), Out: io.Discard, Err: &stderr,
		Wait: func(ctx context.Context, _ time.Duration) error {
			interrupt()
			return ctx.Err()
		},
	})
	const want = "opledger: log@two of batches/a waits until the run log@one, which is in progress, has ended\n"
	if code != terminal.ExitFailed || strings.Count(stderr.String(), want) != 1 {
		t.Errorf("%d %s", code, &stderr)
	}
}

// TestReplayUnwatched: a replay that is told not to wait, or not for ever, says what it does not
// know.
func TestReplayUnwatched(t *testing.T) {
	t.Parallel()
	w := newReplayWorld(t, "batches/a")
	never := func(_, _ func()) { t.Error("it waits") }
	s := w.replay(effects.ReplayOfDead{Topic: "effects", NoWait: true}, never)
	if s.Err != "" || !strings.HasSuffix(s.Out, "opledger status what is dead again\n") {
		t.Errorf("%+v", s)
	}
	w = newReplayWorld(t, "batches/a")
	s = w.replay(effects.ReplayOfDead{Topic: "effects", Timeout: time.Nanosecond}, works)
	if want := "the outcome of 1 of 1 effect is not known: --timeout was over after 1ns; it goes on, and opledger " +
		"status says how many are open"; s.Err != want {
		t.Errorf("%q, want %q", s.Err, want)
	}
}

// TestReplayInterrupted: a replay that is interrupted says how far it came, and how to go on.
func TestReplayInterrupted(t *testing.T) {
	t.Parallel()
	for topic, want := range map[string]string{
		"effects": "the outcome of 3 of 3 effects is not known: it was interrupted; they go on, and opledger status says " +
			"how many are open",
		"": "0 of 3 effects were run, then: it was interrupted; the same command again is safe, and selects the rest",
	} {
		w := newReplayWorld(t, "batches/a", "batches/b", "batches/c")
		s := w.replay(effects.ReplayOfDead{Topic: topic}, func(_, interrupt func()) { interrupt() })
		if s.Err != want {
			t.Errorf("%q, want %q", s.Err, want)
		}
	}
}
