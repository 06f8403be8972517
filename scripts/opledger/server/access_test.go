package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

const (
	serveToken   = "fQ2rT8vXw4cZ1bN7mK0pL5sD9gH3jY6e"
	pushAudience = "https://ledger.example/effects"
	pushAccount  = "opledger-push@my-project.iam.gserviceaccount.com"
	registration = `{"name":"batches/abc"}`
)

// An exposure is a server that answers for real, and what it logs.
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

// wantOperations wants so many operations in the ledger.
func (e *exposure) wantOperations(n int) {
	e.Helper()
	page, err := e.server.Ledger.List(e.Context(), ledger.Filter{Limit: 100})
	if err != nil || len(page.Items) != n {
		e.Errorf("%d operations, %v, want %d", len(page.Items), err, n)
	}
}

// TestForeignPages: no page that a browser shows reaches anything but what is public, neither from
// an origin of its own nor under a name that it rebound to this machine; nothing is written [G7].
func TestForeignPages(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{})
	for _, path := range []string{"/register", "/effects", "/reconcile", "/", "/nothing", "/register/", "//register"} {
		for _, host := range []string{
			"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "0.0.0.0",
			"[::]", "2130706433", "[::1",
		} {
			e.call(call{path: path, body: registration, host: host, status: 403, reason: "host"})
			e.call(call{method: "GET", path: path, host: host, status: 403, reason: "host"})
		}
		if path == "//register" {
			continue // which is answered with a redirect to where it belongs
		}
		for _, header := range [][]string{
			{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Origin", "http://localhost:1"},
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "cross-site", "Origin", e.url},
			{"Origin", "https://evil.example", "Content-Type", "text/plain", "Authorization", "Bearer " + serveToken},
		} {
			e.call(call{path: path, body: registration, header: header, status: 403, reason: "cross-origin"})
		}
	}
	e.wantOperations(0)
	for _, header := range [][]string{nil, {"Origin", "https://evil.example"}, {"X-Forwarded-For", "203.0.113.7"}} {
		e.call(call{path: "/webhook", body: "{}", host: "evil.example", header: header, status: 401}) // it is not signed
		e.call(call{method: "GET", path: "/health", host: "evil.example", header: header, status: 200})
	}
	e.call(call{method: "OPTIONS", header: []string{"Origin", "https://evil.example", "Access-Control-Request-Method",
		"POST"}, status: 405})
	e.call(call{method: "OPTIONS", host: "evil.example", status: 403, reason: "host"})
}

// TestLocalCallers: a caller on this machine needs nothing where no token is set, and every one
// needs it where one is [G7].
func TestLocalCallers(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{})
	e.call(call{status: 201})
	for _, host := range []string{"localhost", "LocalHost:8080", "127.0.0.1", "127.1.2.3:1", "[::1]", "[::1]:8080"} {
		e.call(call{host: host, status: 200})
	}
	e.call(call{header: []string{"Origin", e.url, "Sec-Fetch-Site", "same-origin"}, status: 200})
	e.call(call{header: []string{"Authorization", "Bearer of something else"}, status: 200})
	e.call(call{method: "GET", path: "/nothing", status: 404})
	e.call(call{path: "/effects", body: "{}", status: 400})

	e = expose(t, "127.0.0.1", Options{}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	for _, header := range [][]string{
		nil, {"Authorization", serveToken}, {"Authorization", "Bearer"}, {"Authorization", "Basic " + serveToken},
		{"Authorization", "Bearer " + serveToken[1:]}, {"Authorization", "Bearer " + serveToken + "0"},
		{"Authorization", "Bearer " + strings.ToLower(serveToken)},
		{"Authorization", "Bearer " + serveToken, "Authorization", "Bearer " + serveToken},
	} {
		e.call(call{header: header, status: 401, reason: "token"})
		e.call(call{path: "/effects", body: "{}", header: header, status: 401, reason: "token"})
	}
	e.wantOperations(0)
	e.call(call{header: []string{"Authorization", "bearer  " + serveToken}, status: 201})
	e.call(call{path: "/effects", body: "{}", header: []string{"Authorization", "Bearer " + serveToken}, status: 400})
}

// TestProxies: a request that a proxy or a tunnel on this machine passes on comes from loopback and
// is from anywhere: it needs the token [G7].
func TestProxies(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{})
	headers := []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-IP", "Forwarded", "Via",
		"CF-Connecting-IP", "True-Client-IP",
	}
	for _, header := range headers {
		e.call(call{header: []string{header, ""}, status: 403, reason: "beyond-loopback"})
		e.call(call{path: "/effects", body: "{}", header: []string{header, "127.0.0.1"}, status: 403, reason: "push-off"})
	}
	e.wantOperations(0)

	e = expose(t, "127.0.0.1", Options{AllowHosts: []string{"Ledger.example", "10.0.0.1"}},
		"OPLEDGER_SERVE_TOKEN="+serveToken)
	token := []string{"Authorization", "Bearer " + serveToken}
	e.call(call{header: append(token, "X-Forwarded-For", "203.0.113.7"), status: 201})
	for _, host := range []string{"ledger.example", "LEDGER.example:8443", "10.0.0.1:80"} {
		e.call(call{host: host, header: token, status: 200})
		e.call(call{host: host, status: 401, reason: "token"})
		e.call(call{path: "/effects", host: host, header: token, status: 403, reason: "push-off"})
	}
	e.call(call{host: "elsewhere.example", header: token, status: 403, reason: "host"})
	e.call(call{host: "ledger.example", header: append(token, "Origin", "https://elsewhere.example"), status: 403,
		reason: "cross-origin"})
	e.call(call{host: "ledger.example", header: append(token, "Origin", "https://ledger.example"), status: 200})

	e = expose(t, "127.0.0.1", Options{AllowHosts: []string{"ledger.example"}})
	e.call(call{host: "ledger.example", status: 403, reason: "beyond-loopback"})
}

// TestBeyondLoopback: of a listener that others can reach no request is local, whatever it says of
// itself [G7].
func TestBeyondLoopback(t *testing.T) {
	t.Parallel()
	e := expose(t, "0.0.0.0", Options{})
	e.call(call{status: 403, reason: "beyond-loopback"})
	e.call(call{host: "localhost", status: 403, reason: "beyond-loopback"})
	e.call(call{path: "/effects", body: "{}", status: 403, reason: "push-off"})
	e.call(call{path: "/webhook", body: "{}", status: 401})
	e.call(call{method: "GET", path: "/health", status: 200})
	e.wantOperations(0)

	e = expose(t, "0.0.0.0", Options{}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	token := []string{"Authorization", "Bearer " + serveToken}
	e.call(call{status: 401, reason: "token"})
	e.call(call{header: token, status: 201})
	e.call(call{host: "ledger.example", header: token, status: 403, reason: "host"})
	e.call(call{path: "/effects", body: "{}", header: token, status: 403, reason: "push-off"})
}

// TestPushes: /effects takes, from anywhere, the token that Google makes for the subscription, and
// no other; where Google's keys cannot be fetched the push is to come again [G7].
func TestPushes(t *testing.T) {
	t.Parallel()
	sim := geminisim.New(geminisim.Config{Audience: pushAudience, Issuer: "https://accounts.google.com"})
	keys := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		sim.Close()
		keys.Close()
	})
	token := func(change func(map[string]any)) []string {
		claims := sim.Claims("", nil)
		claims["email"], claims["email_verified"] = pushAccount, true
		change(claims)
		return []string{"Authorization", "Bearer " + sim.Token(claims, geminisim.TokenOptions{})}
	}
	good := token(func(map[string]any) {})
	settings := []string{
		"OPLEDGER_SERVE_TOKEN=" + serveToken, "OPLEDGER_PUSH_AUDIENCE=" + pushAudience,
		"OPLEDGER_PUSH_ACCOUNT=" + pushAccount,
	}
	push := call{path: "/effects", body: `{"message":{"data":"e30=","messageId":"1"}}`, host: "ledger.example",
		header: good, status: 400}
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		e := expose(t, host, Options{AllowHosts: []string{"ledger.example"}, PushKeys: keys.URL + geminisim.JWKSPath},
			settings...)
		e.call(push) // 400: the message names no effect
		for name, header := range map[string][]string{
			"no token":         nil,
			"the server's":     {"Authorization", "Bearer " + serveToken},
			"another account":  token(func(c map[string]any) { c["email"] = "me@other.iam.gserviceaccount.com" }),
			"another audience": token(func(c map[string]any) { c["aud"] = "https://elsewhere.example" }),
			"another issuer":   token(func(c map[string]any) { c["iss"] = "https://elsewhere.example" }),
			"an old one":       token(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() }),
		} {
			refused := push
			refused.header, refused.status, refused.reason = header, 401, "push-token"
			t.Log(name)
			e.call(refused)
		}
		elsewhere := push
		elsewhere.path, elsewhere.status, elsewhere.reason = "/register", 401, "token" // it opens nothing else
		e.call(elsewhere)
	}
	e := expose(t, "127.0.0.1", Options{PushKeys: keys.URL + geminisim.JWKSPath}, settings...)
	e.call(call{path: "/effects", body: "{}", header: good, status: 400}) // through a proxy that hides itself
	e.call(call{path: "/effects", body: "{}", header: []string{"Authorization", "Bearer " + serveToken}, status: 400})

	e = expose(t, "0.0.0.0", Options{PushKeys: "http://127.0.0.1:1"}, settings...)
	if header := e.call(call{
		path: "/effects", body: "{}", header: good, status: 503, reason: "unavailable",
	}); header.Get("Retry-After") == "" {
		t.Error("it does not say when to come again")
	}
}

// TestWebhooksAlone: what a tunnel makes public is /webhook and nothing else [G7].
func TestWebhooksAlone(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	e.url = e.webhooks
	e.call(call{path: "/webhook", body: "{}", host: "tunnel.example", header: []string{"X-Forwarded-For", "203.0.113.7"},
		status: 401})
	e.call(call{method: "GET", path: "/webhook", status: 405})
	for _, path := range []string{"/register", "/effects", "/reconcile", "/health", "/", "/webhook/",
		"/webhook/../register"} {
		for _, method := range []string{"GET", "POST"} {
			e.call(call{method: method, path: path, body: registration,
				header: []string{"Authorization", "Bearer " + serveToken}, status: 404})
		}
	}
	e.wantOperations(0)
}

// TestCheckHost: a host is a name or an address alone.
func TestCheckHost(t *testing.T) {
	t.Parallel()
	for host, ok := range map[string]bool{
		"ledger.example": true, "Ledger": true, "my_ledger-1": true, "10.0.0.1": true, "::1": true, "fd00::1": true,
		"": false, "*": false, "*.example": false, "ledger.example:80": false, "https://ledger.example": false,
		"ledger.example/": false,
		"[::1]":           false, ".example": false, "example.": false, "a b": false, "me@ledger.example": false,
	} {
		if err := CheckHost(host); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
	if _, err := newGuard(config.Access{}, []string{"*"}, "", time.Now, nil); err == nil {
		t.Error("a pattern is taken")
	}
}
