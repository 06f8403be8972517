package serve_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/serve"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// A socket is where systemd would listen.
type socket struct {
	t    *testing.T
	path string
	conn net.PacketConn
}

func newSocket(t *testing.T) socket {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenPacket("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return socket{t, path, conn}
}

// next waits for a message.
func (s socket) next() string {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	message := make([]byte, 4096)
	n, _, err := s.conn.ReadFrom(message)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(message[:n])
}

// TestSupervisor: systemd learns that serve is ready, that it lives, and that it ends.
func TestSupervisor(t *testing.T) {
	t.Parallel()
	systemd := newSocket(t)
	s := commandtest.Serving(t, []string{"NOTIFY_SOCKET=" + systemd.path, "WATCHDOG_USEC=900000"})
	ready := "READY=1\nSTATUS=serving on " + strings.TrimPrefix(s.URL, "http://")
	if got := systemd.next(); got != ready {
		t.Errorf("first it hears %q, want %q", got, ready)
	}
	for range 3 {
		if got := systemd.next(); got != "WATCHDOG=1" {
			t.Errorf("while it serves systemd hears %q", got)
		}
	}
	stopped := make(chan string)
	go func() { stopped <- s.Stop() }()
	for got := systemd.next(); got != "STOPPING=1"; got = systemd.next() {
		if got != "WATCHDOG=1" {
			t.Errorf("as it ends systemd hears %q", got)
		}
	}
	<-stopped
}

// TestSupervisorMissesLife: a serve that does not answer gives no sign of life.
func TestSupervisorMissesLife(t *testing.T) {
	t.Parallel()
	const deaf = 4
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" || asked.Add(1) <= deaf {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	systemd := newSocket(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- serve.Watch(ctx, []string{"NOTIFY_SOCKET=" + systemd.path, "WATCHDOG_USEC=900000"}, server.URL)
	}()
	if got := systemd.next(); got != "WATCHDOG=1" || asked.Load() <= deaf {
		t.Errorf("after %d questions systemd hears %q", asked.Load(), got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSupervisorBusy: a serve that closes the connection, because all others are busy, lives.
func TestSupervisorBusy(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_ = connection.Close()
		}
	})
	defer accepting.Wait()
	defer listener.Close() //nolint:errcheck // it only ends the test
	systemd := newSocket(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		done <- serve.Watch(ctx, []string{"NOTIFY_SOCKET=" + systemd.path, "WATCHDOG_USEC=900000"},
			"http://"+listener.Addr().String())
	}()
	if got := systemd.next(); got != "WATCHDOG=1" {
		t.Errorf("systemd hears %q", got)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestSupervisorGone: serve does not run unseen where systemd waits to hear of it, nor with a watchdog that it does
// not understand.
func TestSupervisorGone(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	variables := []string{"GEMINI_API_KEY=k", "OPLEDGER_STORE=" + f.Store(), "NOTIFY_SOCKET=" + f.Path + ".none"}
	commandtest.Run(t, variables, "serve", "--port", "0").
		Want(t, terminal.ExitFailed, "telling systemd at NOTIFY_SOCKET: ")
	for _, usec := range []string{"soon", "0", "-1", "9223372036854775807"} {
		s := commandtest.Run(t, append(variables, "WATCHDOG_USEC="+usec), "serve", "--port", "0").Want(t, terminal.ExitUsage)
		if got := s.Complaint(t); !strings.HasPrefix(got, "WATCHDOG_USEC: it must be a number of microseconds, not ") {
			t.Errorf("%s: %s", usec, got)
		}
	}
}

// TestServeCheck: --check says what serve would, all of it, and starts nothing: it makes no ledger, and no token.
func TestServeCheck(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	right := []string{"GEMINI_API_KEY=k", "OPLEDGER_STORE=" + f.Store()}
	for _, args := range [][]string{{}, {"--simulate"}, {"--forward-to", "https://example.com/hook"}} {
		s := commandtest.Run(t, right, append([]string{"serve", "--check"}, args...)...).Want(t, terminal.ExitDone)
		if s.Out != "the flags and the settings are in order; nothing was started\n" || s.Err != "" {
			t.Errorf("%q: %q %q", args, s.Out, s.Err)
		}
	}
	wrong := append(right, "OPLEDGER_GRACE=soon", "OPLEDGER_RETENTON=14d", "OPLEDGER_EFFECTS=@none.yaml")
	args := []string{"serve", "--port", "99999", "--webhook-listen", "8081", "--forward-to", "ftp://h"}
	checked := commandtest.Run(t, wrong, append(args, "--check")...).Want(t, terminal.ExitUsage).Complaint(t)
	served := commandtest.Run(t, wrong, args...).Want(t, terminal.ExitUsage).Complaint(t)
	if checked != served || !strings.HasPrefix(checked, "6 problems, and nothing was done:\n") {
		t.Errorf("--check says\n%s\nand serve\n%s", checked, served)
	}
	if left, err := os.ReadDir(filepath.Dir(f.Path)); err != nil || len(left) > 0 {
		t.Errorf("there are %v: %v", left, err)
	}
}

// TestServeVersion: /health and the console say which build serves.
func TestServeVersion(t *testing.T) {
	t.Parallel()
	s := commandtest.Serving(t, nil)
	defer s.Stop()
	for path, says := range map[string]string{
		"/health": `"version":"` + terminal.Version() + `"`, "/": "<span>opledger " + terminal.Version() + "</span>",
	} {
		answer, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || !strings.Contains(string(body), says) {
			t.Errorf("%s answers %s (%v), without %s", path, body, err, says)
		}
	}
}
