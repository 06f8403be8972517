package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

// An exposure is a server that answers requests, and its log.
type exposure struct {
	*testing.T
	server   *Server
	url      string // with the address of loopback, also where it listens on every address
	webhooks string // of the listener for /webhook alone
	log      *harness.Log
	client   *http.Client
}

// expose serves on that host until the test ends.
func expose(t *testing.T, host string, options Options, more ...string) *exposure {
	t.Helper()
	e := &exposure{T: t, log: &harness.Log{}, client: &http.Client{Transport: &http.Transport{}}}
	options.Log = slog.New(slog.NewJSONHandler(e.log, nil))
	s, unused := open(t, filepath.Join(t.TempDir(), "ledger.db"), "http://127.0.0.1:1", options, more...)
	if err := unused.Close(); err != nil {
		t.Fatal(err)
	}
	e.server = s
	listen := func(host string) (net.Listener, string) {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Fatal(err)
		}
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return listener, "http://127.0.0.1:" + port
	}
	main, url := listen(host)
	alone, webhooks := listen("127.0.0.1")
	e.url, e.webhooks = url, webhooks
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, main, alone) }()
	t.Cleanup(func() {
		e.client.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return e
}

// A call is a request and what is to come of it.
type call struct {
	method, path, body string // POST, /register and a registration where they are empty
	host               string // empty: that of the address
	header             []string
	status             int
	reason             string // that is logged; empty: the request was not refused
}

func (e *exposure) call(c call) http.Header {
	e.Helper()
	if c.path == "" {
		c.path, c.body = "/register", registration
	}
	if c.method == "" {
		c.method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(e.Context(), c.method, e.url+c.path, strings.NewReader(c.body))
	if err != nil {
		e.Fatal(err)
	}
	r.Host = c.host
	for i := 0; i < len(c.header); i += 2 {
		r.Header.Add(c.header[i], c.header[i+1])
	}
	answer, err := e.client.Do(r)
	if err != nil {
		e.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := answer.Body.Close(); err != nil {
		e.Error(err)
	}
	what := fmt.Sprintf("%s %s for %q with %q", c.method, c.path, c.host, c.header)
	if err != nil || answer.StatusCode != c.status {
		e.Errorf("%s: %s %s %v, want %d", what, answer.Status, text, err, c.status)
	}
	reason := ""
	for _, line := range e.log.Drain(e.T) {
		if line["msg"] == "a caller was refused" {
			reason = fmt.Sprint(line["reason"])
			if _, why := line["error"]; why != (reason == "push-token" || reason == "unavailable") {
				e.Errorf("%s %s: logged %v", c.method, c.path, line)
			}
		}
		if strings.Contains(fmt.Sprint(line), serveToken) {
			e.Errorf("%s: the token is logged: %v", what, line)
		}
	}
	if reason != c.reason {
		e.Errorf("%s: refused as %q, want %q", what, reason, c.reason)
	}
	if wants := answer.StatusCode == http.StatusUnauthorized &&
		reason != ""; wants != (answer.Header.Get("WWW-Authenticate") == "Bearer") {
		e.Errorf("%s: %v", what, answer.Header)
	}
	if answer.Header.Get("Access-Control-Allow-Origin") != "" {
		e.Errorf("%s: another origin may read the answer: %v", what, answer.Header)
	}
	return answer.Header
}

// wantOperations checks the number of operations in the ledger.
func (e *exposure) wantOperations(n int) {
	e.Helper()
	page, err := e.server.Ledger.Operations.List(e.Context(), ledger.Filter{Limit: 100})
	if err != nil || len(page.Items) != n {
		e.Errorf("%d operations, %v, want %d", len(page.Items), err, n)
	}
}
