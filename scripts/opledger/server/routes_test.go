package server

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
)

// TestWebhooksAlone: the port for a tunnel answers /webhook and nothing else [G7].
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

// TestIntentRoute: a caller with the token reads an intent, whatever its id has in it [G6, G7].
func TestIntentRoute(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	token := []string{"Authorization", "Bearer " + serveToken}
	for _, path := range []string{"/intents/night-1", "/intents/nightly%2F%2F2026-11-21%3F", "/intents/a/b"} {
		e.call(call{method: "GET", path: path, header: token, status: 404})
		e.call(call{method: "GET", path: path, status: 401, reason: "token"})
	}
	intent := `{"intent":true,"correlationId":"nightly//2026-11-21?"}`
	e.call(call{path: "/register", body: intent, header: token, status: 201})
	e.call(call{method: "GET", path: "/intents/nightly%2F%2F2026-11-21%3F", header: token, status: 200})
}

// TestUnreadBodyHoldsNoConnection: a request that is refused, or whose body no handler reads, holds its
// connection no longer than a body may take, however long the rest stays away [W7].
func TestUnreadBodyHoldsNoConnection(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	for _, c := range []struct{ url, request, status string }{
		{e.url, "GET /health", "200"}, {e.url, "GET /ready", "200"}, {e.url, "POST /health", "401"},
		{e.url, "POST /register", "401"}, {e.url, "GET /webhook", "405"}, {e.webhooks, "GET /elsewhere", "404"},
	} {
		t.Run(c.request, func(t *testing.T) {
			t.Parallel()
			address := strings.TrimPrefix(c.url, "http://")
			connection, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close() //nolint:errcheck // the server has closed it
			_ = connection.SetReadDeadline(time.Now().Add(httpfunc.BodyTime))
			if _, err := fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\n", c.request,
				address); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(connection)
			if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 "+c.status) {
				t.Errorf("%s: %v, want %s and the end of the connection", answer, err, c.status)
			}
		})
	}
}
