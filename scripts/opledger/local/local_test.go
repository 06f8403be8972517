package local

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

func runOn(t *testing.T, ctx context.Context, o Options) (Summary, error) {
	t.Helper()
	store, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Functions = "http://" + listener.Addr().String()
	o.Start = func(ctx context.Context, d Deployment) (*ledger.Ledger, func(context.Context) error, error) {
		settings, err := config.Parse[server.Settings](d.Variables)
		if err != nil {
			return nil, nil, err
		}
		functions, err := server.New(ctx, settings, server.Options{
			Store: store, Now: time.Now, Log: slog.New(slog.DiscardHandler), Schedule: settings.Ledger.Interval,
			Budget: d.Budget, Workers: d.Workers, Wrap: d.Unreliable,
		})
		if err != nil {
			return nil, nil, err
		}
		return functions.Ledger, func(ctx context.Context) error { return functions.Serve(ctx, listener) }, nil
	}
	summary, err := Run(ctx, o)
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	return summary, err
}

// TestRunHarsh: a run under the worst faults keeps every promise, and the faults did occur.
func TestRunHarsh(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	s, err := runOn(t, t.Context(), Options{
		Operations: 60, Seed: 1, Faults: "harsh", Speed: 800,
		View: &Table{W: &screen, Rows: 10, Size: func() (int, int) { return 40, 8 }},
	})
	if err != nil || !s.Clean() {
		t.Errorf("%+v, %v", s, err)
	}
	// Faults of the API are left out: many batches are found with one request, and so few may all
	// be spared.
	if s.DeliveriesLost == 0 || s.DeliveriesRepeated == 0 || s.DeliveriesLate == 0 || s.DeliveriesReordered == 0 ||
		s.DeliveriesRetried == 0 || s.DeployWindowHits == 0 || s.SettledByReconcile == 0 ||
		s.MessagesLost == 0 || s.MessagesRepeated == 0 || s.EffectsRefused == 0 || s.EffectAnswersLost == 0 ||
		s.EffectRepeatsKnown == 0 {
		t.Errorf("too kind a run: %+v", s)
	}
	if s.SettledByWebhook+s.SettledByReconcile != 60 || s.Operations != 60 || s.Seed != 1 {
		t.Errorf("%+v", s)
	}
	for line := range strings.Lines(screen.String()) {
		if n := len([]rune(strings.TrimSuffix(line[strings.LastIndex(line, "\x1b[2K")+4:], "\n"))); n > 39 {
			t.Errorf("a line of %d characters on a terminal of 40: %q", n, line)
		}
	}
	t.Logf("%+v", s)
}

// TestRunEndsWithItsContext: an interrupted run returns an error, and leaves no goroutine behind.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	began := viewFunc(func(p Progress) {
		if p.Submitted > 0 {
			cancel()
		}
	})
	if s, err := runOn(t, ctx, Options{Operations: 20, Faults: "none", Speed: 10, View: began}); err == nil {
		t.Errorf("%+v", s)
	}
}

// TestRunEndsInTime: a run without any time breaks no promise, and proves none.
func TestRunEndsInTime(t *testing.T) {
	t.Parallel()
	s, err := runOn(t, t.Context(), Options{Operations: 20, Faults: "none", Speed: 100, MaxTime: time.Nanosecond,
		View: Silent{}})
	if err != nil || !s.Clean() || s.Unfinished != 20 || s.Unproven() == "" {
		t.Errorf("%+v, %v", s, err)
	}
}

type viewFunc func(Progress)

func (f viewFunc) Show(p Progress) { f(p) }
func (viewFunc) End()              {}
