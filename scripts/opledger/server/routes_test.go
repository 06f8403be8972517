package server

import (
	"testing"
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
