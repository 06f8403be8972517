package server

import (
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/geminisim"
)

const (
	serveToken   = "fQ2rT8vXw4cZ1bN7mK0pL5sD9gH3jY6e"
	pushAudience = "https://ledger.example/effects"
	pushAccount  = "opledger-push@my-project.iam.gserviceaccount.com"
	registration = `{"name":"batches/abc"}`
)

// TestForeignPages: a page in a browser reaches the public routes alone, from its own origin and
// under a name that was rebound to this machine; nothing is written [G7].
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
		"POST"}, status: 403, reason: "cross-origin"})
	e.call(call{method: "OPTIONS", host: "evil.example", status: 403, reason: "host"})
}

// TestLocalCallers: a caller on this machine needs no token if none is set, and needs it if one is
// [G7].
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

// TestProxies: a request that a proxy or a tunnel on this machine forwards has a loopback address
// and may come from anywhere: it needs the token [G7].
func TestProxies(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{})
	headers := []string{
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-IP", "Forwarded", "Via",
		"CF-Connecting-IP", "True-Client-IP", "X-Original-For",
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

// TestBeyondLoopback: no request is local on a listener that other machines can reach, whatever its
// headers [G7].
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

// TestRunKey: what stands beside the ledger opens the two routes that commands ask, and nothing else [G7].
func TestRunKey(t *testing.T) {
	t.Parallel()
	const key = "known-to-this-run-alone"
	bearer := []string{"Authorization", "Bearer " + key}
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} {
		e := expose(t, host, Options{Key: key}, "OPLEDGER_SERVE_TOKEN="+serveToken)
		for _, path := range []string{"/sweep", "/reconcile"} {
			e.call(call{path: path, header: bearer, status: 200})
			e.call(call{path: path, header: []string{"Authorization", "Bearer " + serveToken}, status: 200})
			e.call(call{path: path, status: 401, reason: "token"})
			e.call(call{path: path, header: append(bearer, "Origin", "null"), status: 403, reason: "cross-origin"})
			e.call(call{path: path, host: "evil.example", header: bearer, status: 403, reason: "host"})
		}
		e.call(call{header: bearer, status: 401, reason: "token"})
		e.call(call{method: "GET", path: "/operations/batches/a", header: bearer, status: 401, reason: "token"})
		e.call(call{method: "GET", path: "/", header: bearer, status: 401, reason: "token"})
	}
	e := expose(t, "127.0.0.1", Options{}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	e.call(call{path: "/sweep", header: []string{"Authorization", "Bearer "}, status: 401, reason: "token"})
}

// boundTo is a listener, of which only the address counts.
type boundTo struct {
	net.Listener
	ip string
}

func (b boundTo) Addr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(b.ip), Port: 8080} }

// TestOwnAddress: the address that a listener is bound to is a Host that it answers; one that is bound to
// all of them answers loopback's alone [G7].
func TestOwnAddress(t *testing.T) {
	t.Parallel()
	g, err := newGuard(config.Access{Token: serveToken}, []string{"ledger.example"}, "", time.Now, slog.Default())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		bound, host string
		answered    bool
	}{
		{"192.168.1.5", "192.168.1.5:8080", true},
		{"192.168.1.5", "192.168.1.6:8080", false},
		{"192.168.1.5", "ledger.example", true},
		{"fd00::2", "[fd00::2]:8080", true},
		{"0.0.0.0", "192.168.1.5:8080", false},
		{"0.0.0.0", "0.0.0.0:8080", false},
		{"::", "[::]:8080", false},
	} {
		r := httptest.NewRequest("POST", "/register", nil)
		r.Host = c.host
		if no := g.on(boundTo{ip: c.bound}).checkHost(r); (no == nil) != c.answered {
			t.Errorf("%+v: %v", c, no)
		}
	}
	if len(g.hosts) != 1 {
		t.Errorf("one listener's address counts for all: %v", g.hosts)
	}
}

// TestPushes: /effects accepts from anywhere the identity token of the subscription, and no other;
// if Google's keys cannot be fetched, the push is to be retried [G7].
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
	if _, err := newGuard(config.Access{PushAudience: pushAudience}, nil, "", time.Now, nil); err == nil {
		t.Error("pushes of no account are taken")
	}
}

// TestLocal: a request is local if it came to a listener on loopback, and from there [G7].
func TestLocal(t *testing.T) {
	t.Parallel()
	for peer, want := range map[string]bool{
		"127.0.0.1:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "10.0.0.1:1": false,
		"[fd00::1]:1": false, "": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/", nil)
		r.RemoteAddr = peer
		if got := (&guard{}).local(r); got != want {
			t.Errorf("from %q: %v, want %v", peer, got, want)
		}
	}
	if IsLoopback(&net.UnixAddr{Name: "s"}) {
		t.Error("a socket is taken for an address")
	}
}
