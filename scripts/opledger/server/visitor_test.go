package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// answered sends a request as it is written here, and returns the answer.
func (e *exposure) answered(request string) *http.Response {
	e.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	if err != nil {
		e.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprint(connection, request); err != nil {
		e.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		e.Fatal(err)
	}
	return answer
}

// TestOldProxies: nginx forwards as HTTP/1.0 by default, under the Host that the server has, and with
// no header of its own. No such request is local [G7].
func TestOldProxies(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{Console: true})
	for version, want := range map[string]int{"HTTP/1.0": 403, "HTTP/1.1": 200} {
		for _, path := range []string{"/", "/console/operations"} {
			if got := e.answered("GET " + path + " " + version + "\r\nHost: 127.0.0.1\r\n\r\n"); got.StatusCode != want {
				t.Errorf("%s of %s: %s, want %d", version, path, got.Status, want)
			}
		}
	}
	const body = "Content-Length: 22\r\n\r\n" + registration
	if got := e.answered("POST /register HTTP/1.0\r\nHost: 127.0.0.1\r\n" + body); got.StatusCode != 403 {
		t.Errorf("POST /register: %s", got.Status)
	}
	e.wantOperations(0)
	if got := e.answered("GET /health HTTP/1.0\r\n\r\n"); got.StatusCode != 200 {
		t.Errorf("/health: %s", got.Status)
	}
}

// TestVisitor: a browser shows the token once, in the address of a page. It gets a cookie for the
// console alone, which no script, no other site and no other server's token can use [G7].
func TestVisitor(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{Console: true}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	page := func(path string) call { return call{method: "GET", path: path, status: 200} }
	refused := func(c call) call {
		c.status, c.reason = 401, "token"
		return c
	}
	e.call(refused(page("/")))
	e.call(refused(page("/?token=" + serveToken[1:])))
	e.call(refused(page("/?token=")))
	e.call(refused(page("/operations/batches/abc?token=" + serveToken)))
	entered := e.call(page("/console/operation?key=batches%2Fabc&token=" + serveToken))
	if got := entered.Get("Refresh"); got != "0; url=/console/operation?key=batches%2Fabc" {
		t.Errorf("the browser goes on to %q", got)
	}
	cookie := strings.Split(entered.Get("Set-Cookie"), "; ")
	if len(cookie) != 4 || !strings.HasPrefix(cookie[0], "opledger-") || strings.Contains(cookie[0], serveToken) ||
		cookie[1] != "Path=/" || cookie[2] != "HttpOnly" || cookie[3] != "SameSite=Strict" {
		t.Errorf("the cookie is %q", cookie)
	}
	with := func(c call) call {
		c.header = append([]string{"Cookie", cookie[0]}, c.header...)
		return c
	}
	for _, path := range []string{"/", "/console/operations", "/console/static/console.css"} {
		if header := e.call(with(page(path))); header.Get("Refresh") != "" {
			t.Errorf("%s leads to %q", path, header.Get("Refresh"))
		}
	}
	byHand := page("/")
	byHand.header = []string{"Authorization", "Bearer " + serveToken}
	e.call(byHand)
	e.call(refused(call{path: "/console/ask?token=" + serveToken}))
	// It leads on only to a page.
	e.call(call{path: "/console/ask?token=" + serveToken, header: byHand.header, status: 404})
	e.call(refused(with(call{path: "/register", body: registration})))
	e.call(refused(with(page("/operations/batches/abc"))))
	e.call(with(call{path: "/console/ask", body: "do=rerun", status: 403, reason: "cross-origin",
		header: []string{"Sec-Fetch-Site", "same-site"}}))
	e.call(with(call{method: "GET", path: "/", host: "evil.example", status: 403, reason: "host"}))
	another := page("/")
	another.header = []string{"Cookie", strings.Split(cookie[0], "=")[0] + "=" + serveToken}
	e.call(refused(another))
	through := page("/?token=" + serveToken)
	through.header = []string{"X-Forwarded-Proto", "https"}
	if got := e.call(through).Get("Set-Cookie"); !strings.Contains(got, "; Secure;") {
		t.Errorf("behind TLS the cookie is %q", got)
	}
	e.wantOperations(0)
}

// TestVisitorAgain: a browser that keeps cookies needs the token once, and the address that it stays
// at does not have it [G7].
func TestVisitorAgain(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{Console: true}, "OPLEDGER_SERVE_TOKEN="+serveToken)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.client.Jar = jar
	e.call(call{method: "GET", path: "/?token=" + serveToken, status: 200})
	e.call(call{method: "GET", path: "/", status: 200})
	open := expose(t, "127.0.0.1", Options{Console: true}, "OPLEDGER_SERVE_TOKEN="+"none")
	header := open.call(call{method: "GET", path: "/?token=" + serveToken, status: 200})
	if header.Get("Set-Cookie") != "" || header.Get("Refresh") != "0; url=/" {
		t.Errorf("where no token is needed: %v", header)
	}
	open.call(call{header: []string{"Authorization", "Bearer " + "none"}, status: 201})
	open.call(call{header: []string{"Authorization", "Bearer " + "none", "Via", "1.1 x"}, status: 403,
		reason: "beyond-loopback"})
}

// TestForeignReads: what a page of another origin asks for is refused, whatever it would be, so that
// neither its time nor its size tells what is in the ledger. A link leads to a page of the console,
// and every answer has the headers that keep it from being embedded [G7].
func TestForeignReads(t *testing.T) {
	t.Parallel()
	e := expose(t, "127.0.0.1", Options{Console: true})
	e.call(call{status: 201})
	const operation, page = "/operations/batches/abc", "/console/operation?key=batches%2Fabc"
	link := []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	for _, site := range []string{"cross-site", "same-site"} {
		for _, header := range [][]string{
			nil, {"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
			{"Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "document"},
			{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "object"},
			{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"},
		} {
			header = append([]string{"Sec-Fetch-Site", site}, header...)
			for _, path := range []string{operation, operation + "?wait=2s", "/operations/batches/none", "/intents/night-1",
				page, "/", "/none"} {
				e.call(call{method: "GET", path: path, header: header, status: 403, reason: "cross-origin"})
			}
		}
		header := append([]string{"Sec-Fetch-Site", site}, link...)
		e.call(call{method: "GET", path: page, header: header, status: 200})
		e.call(call{method: "GET", path: "/", header: header, status: 200})
		e.call(call{method: "GET", path: operation, header: header, status: 403, reason: "cross-origin"})
		e.call(call{path: "/console/ask", body: "do=rerun", header: header, status: 403, reason: "cross-origin"})
	}
	e.call(call{method: "GET", path: operation, header: []string{"Origin", "https://evil.example"}, status: 403,
		reason: "cross-origin"})
	for _, site := range []string{"same-origin", "none"} {
		e.call(call{method: "GET", path: operation, header: []string{"Sec-Fetch-Site", site}, status: 200})
	}
	for path, status := range map[string]int{operation: 200, "/health": 200, "/webhook": 405, "/none": 404, "/": 200} {
		header := e.call(call{method: "GET", path: path, status: status})
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Referrer-Policy": "no-referrer",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s has %s: %q, want %q", path, name, got, want)
			}
		}
		if !strings.Contains(header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has %v", path, header)
		}
	}
}
