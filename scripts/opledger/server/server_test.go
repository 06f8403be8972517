package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/logging"
	"github.com/opledger/opledger/shared/operation"
)

// open returns a server over the file at path whose one effect goes to sink, and a port for it.
func open(t *testing.T, path, sink string, options Options, more ...string) (*Server, net.Listener) {
	t.Helper()
	settings, err := config.Parse[Settings](append([]string{
		"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1", "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, do: http, url: %q, on: [SUCCEEDED]}]", sink),
	}, more...))
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	options.Store, options.Now = store, time.Now
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	s, err := New(t.Context(), settings, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return s, listener
}

// end registers batches/a, which has ended, so that its effect is planned.
func end(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	endOf(t, l, "batches/a")
}

// endOf registers an operation that has ended, so that its effect is planned.
func endOf(t *testing.T, l *ledger.Ledger, key operation.Key) {
	t.Helper()
	name := operation.Name{Key: key, Resource: string(key)}
	_, err := l.Operations.Register(t.Context(), ledger.Registration{Name: name})
	if err == nil {
		_, err = l.Operations.Ingest(t.Context(), operation.Event{Name: name, DeliveryID: "1", Source: operation.Webhook,
			State: operation.Succeeded})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func theEffect(t *testing.T, s *Server) ledger.Effect {
	t.Helper()
	story, err := s.Ledger.Operations.Show(t.Context(), "batches/a")
	if err != nil || len(story.Effects) != 1 {
		t.Fatalf("%+v, %v", story, err)
	}
	return story.Effects[0]
}

// TestServeBeginsWithAPass: what an earlier process dropped is retried at once: this process may
// not live for an interval [R5, R6].
func TestServeBeginsWithAPass(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
	defer sink.Close()
	path := filepath.Join(t.TempDir(), "ledger.db")
	before, unused := open(t, path, sink.URL, Options{Wrap: func(ledger.Publisher) ledger.Publisher { return loser{} }})
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	end(t, before.Ledger)

	expired := make(chan struct{}, 1)
	after, listener := open(t, path, sink.URL, Options{Schedule: time.Hour, Expire: func(context.Context) (int64, error) {
		expired <- struct{}{}
		return 1, nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- after.Serve(ctx, listener) }()
	select {
	case <-arrived:
	case <-time.After(5 * time.Minute):
		t.Error("the effect was not taken up")
	}
	<-expired // with the pass, what may be deleted goes [L3]
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if e := theEffect(t, after); e.State != ledger.EffectDone {
		t.Errorf("%+v", e)
	}
}

// TestServePaused: effects that were planned during a pause run in the first pass of a process
// without it; none that the paused process declined is lost [R5].
func TestServePaused(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
	defer sink.Close()
	path := filepath.Join(t.TempDir(), "ledger.db")
	paused, unused := open(t, path, sink.URL, Options{}, "OPLEDGER_EFFECTS_PAUSED=true")
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	end(t, paused.Ledger)
	paused.Drain(t.Context())
	if e := theEffect(t, paused); e.State != ledger.EffectPending || e.Attempts != 0 || e.DueAt.IsZero() ||
		len(arrived) != 0 {
		t.Errorf("%+v, %d arrived", e, len(arrived))
	}

	resumed, listener := open(t, path, sink.URL, Options{Schedule: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- resumed.Serve(ctx, listener) }()
	select {
	case <-arrived:
	case <-time.After(5 * time.Minute):
		t.Error("the effect was not taken up")
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if e := theEffect(t, resumed); e.State != ledger.EffectDone || e.Attempts != 1 {
		t.Errorf("%+v", e)
	}
}

// TestStorePause: a server stores its pause when it starts, and its passes do; neither a server that
// does not serve stores one, nor one whose effects other processes run [G5].
func TestStorePause(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.db")
	open := func(o Options, more ...string) (*Server, net.Listener) {
		t.Helper()
		s, listener := open(t, path, "http://127.0.0.1:1", o, more...)
		t.Cleanup(func() { _ = listener.Close() })
		return s, listener
	}
	stored := func(s *Server, want ledger.Pause) {
		t.Helper()
		if last, _, err := s.Ledger.Passes.Last(t.Context()); err != nil || last.Effects != want {
			t.Errorf("effects are %q, %v; want %q", last.Effects, err, want)
		}
	}
	pass := func(s *Server) {
		t.Helper()
		if _, err := s.Reconciler.Pass(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const paused, running = "OPLEDGER_EFFECTS_PAUSED=true", "OPLEDGER_EFFECTS_PAUSED=false"
	alone, _ := open(Options{}, paused)
	pass(alone)
	stored(alone, "")
	serves, listener := open(Options{}, paused)
	serves.StorePause(t.Context())
	stored(serves, ledger.EffectsPaused)
	command, _ := open(Options{}, running)
	pass(command)
	stored(command, ledger.EffectsPaused)
	elsewhere, _ := open(Options{Publisher: loser{}}, running)
	elsewhere.StorePause(t.Context())
	stored(elsewhere, ledger.EffectsPaused)
	again, _ := open(Options{})
	again.StorePause(t.Context())
	stored(again, ledger.EffectsRunning)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := serves.Serve(ended, listener); err != nil {
		t.Error(err)
	}
	pass(serves)
	stored(serves, ledger.EffectsPaused)
}

// A loser reports success without publishing, like a process that dies at that moment.
type loser struct{}

func (loser) Publish(context.Context, ledger.Message) error { return nil }

// TestServeSaysWhyItCannot: a listener that fails ends the server.
func TestServeSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1", Options{Schedule: time.Hour})
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(t.Context(), listener); err == nil {
		t.Error("it served on a closed port")
	}
}

// TestServeSaysWhatWaits: a server that cannot verify deliveries, or whose effects are paused, logs
// that at its start; no other server does.
func TestServeSaysWhatWaits(t *testing.T) {
	t.Parallel()
	const (
		secret  = "OPLEDGER_WEBHOOK_SECRET=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
		refused = "deliveries are answered 503 until OPLEDGER_WEBHOOK_SECRET is set"
		paused  = "effects are planned and not run: OPLEDGER_EFFECTS_PAUSED is true"
	)
	for _, c := range []struct {
		set  []string
		says []string
	}{
		{nil, []string{refused}},
		{[]string{secret}, nil},
		{[]string{"OPLEDGER_WEBHOOK_AUDIENCE=me"}, nil},
		{[]string{secret, "OPLEDGER_EFFECTS_PAUSED=true"}, []string{paused}},
		{[]string{"OPLEDGER_EFFECTS_PAUSED=true"}, []string{refused, paused}},
	} {
		var log bytes.Buffer
		s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1",
			Options{Log: logging.New(&log, "")}, c.set...)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Serve(ctx, listener); err != nil {
			t.Error(err)
		}
		for _, line := range []string{refused, paused} {
			want := 0
			if slices.Contains(c.says, line) {
				want = 1
			}
			if got := strings.Count(log.String(), line); got != want {
				t.Errorf("%v: %q is said %d times, want %d: %s", c.set, line, got, want, &log)
			}
		}
	}
}
