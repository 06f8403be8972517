package trial

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/local"
	"github.com/opledger/opledger/scripts/opledger/server"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger"
)

// TestLocalHarsh: a run under the worst faults keeps every promise, and the faults did occur.
func TestLocalHarsh(t *testing.T) {
	t.Parallel()
	var screen bytes.Buffer
	s, err := localFlags{}.runLocal(t.Context(), terminal.Environment{Out: io.Discard}, local.Options{
		Operations: 60, Seed: 1, Faults: "harsh", Speed: 800,
		View: &local.Table{W: &screen, Rows: 10, Size: func() (int, int) { return 40, 8 }},
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

// TestLocalEndsWithItsContext: an interrupted run returns an error, and leaves no goroutine behind.
func TestLocalEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	began := viewFunc(func(p local.Progress) {
		if p.Submitted > 0 {
			cancel()
		}
	})
	options := local.Options{Operations: 20, Faults: "none", Speed: 10, View: began}
	if s, err := (localFlags{}).runLocal(ctx, terminal.Environment{Out: io.Discard}, options); err == nil {
		t.Errorf("%+v", s)
	}
}

// TestLocalClosesItsPort: a run that fails before its functions are served leaves their port
// closed.
func TestLocalClosesItsPort(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	options := local.Options{Faults: "mild", View: &local.Lines{W: &out}}
	if _, err := (localFlags{}).runLocal(t.Context(), terminal.Environment{Out: &out}, options); err == nil {
		t.Fatal("there are no mild faults")
	}
	address, ok := strings.CutPrefix(strings.TrimSpace(out.String()), "watch it in a browser: http://")
	if !ok {
		t.Fatalf("it does not say where it is: %q", &out)
	}
	connection, err := net.Dial("tcp", address)
	if err == nil {
		t.Errorf("%s answers", connection.RemoteAddr())
		_ = connection.Close()
	}
}

// TestLocalClosesItsConnections: at the end of a run Gemini and the submitter close their connections, so that the
// functions wait for no request on one that was opened and not used.
func TestLocalClosesItsConnections(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := openTemporaryStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingListener{Listener: listener, changed: make(chan struct{}, 1)}
	functions := functionsOn(counting, server.Options{
		Store: opened.store, Location: opened.where, Log: slog.New(slog.DiscardHandler),
	})
	s, err := local.Run(t.Context(), local.Options{
		Operations: 20, Faults: "none", Speed: 1000, View: local.Silent{}, Functions: "http://" + listener.Addr().String(),
		Jobs: local.Jobs{Storage: opened.jobs},
		Make: func(ctx context.Context, d local.Deployment) (*ledger.Ledger, func(context.Context) error, error) {
			l, serve, err := functions(ctx, d)
			return l, func(ctx context.Context) error {
				serving, stop := context.WithCancel(context.WithoutCancel(ctx))
				defer stop()
				ended := context.AfterFunc(ctx, func() {
					counting.none(t)
					stop()
				})
				defer ended()
				return serve(serving)
			}, err
		},
	})
	if err := errors.Join(err, opened.close()); err != nil || !s.Clean() {
		t.Errorf("%+v, %v", s, err)
	}
}

// A countingListener counts the connections that it has accepted and that are open.
type countingListener struct {
	net.Listener
	open    atomic.Int64
	changed chan struct{} // gets a value when one was closed
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.open.Add(1)
		conn = &countedConn{Conn: conn, of: l}
	}
	return conn, err
}

// none returns when no connection is open.
func (l *countingListener) none(t *testing.T) {
	for l.open.Load() > 0 {
		select {
		case <-l.changed:
		case <-time.After(30 * time.Second):
			t.Errorf("%d connections are left open", l.open.Load())
			return
		}
	}
}

type countedConn struct {
	net.Conn
	of   *countingListener
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() {
		c.of.open.Add(-1)
		select {
		case c.of.changed <- struct{}{}:
		default: // there is one already
		}
	})
	return c.Conn.Close()
}

type viewFunc func(local.Progress)

func (f viewFunc) Show(p local.Progress) { f(p) }
func (viewFunc) End()                    {}
