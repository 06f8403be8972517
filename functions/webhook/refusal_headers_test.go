package webhook_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// head sends a delivery's headers without its body and returns the answer. 100 asks for the body.
func (w *world) head(method string, header http.Header) *http.Response {
	w.Helper()
	connection, err := net.Dial("tcp", w.server.Listener.Addr().String())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { connection.Close() })
	header = header.Clone()
	header.Set("Expect", "100-continue")
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s /webhook HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n", method)
	if err := header.Write(&text); err != nil {
		w.Fatal(err)
	}
	if _, err := io.WriteString(connection, text.String()+"\r\n"); err != nil {
		w.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		w.Fatal(err)
	}
	response.Body.Close()
	return response
}

// TestHeadersFirst: a delivery that its headers rule out is answered before its body arrives, and
// the connection is closed, whatever its length [W1, W7].
func TestHeadersFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	static := signed(secret, "m1", w.clock.Now(), nil)
	long := static.Clone()
	long.Set("Webhook-Signature", strings.Repeat("v1,"+strings.Repeat("A", 44)+" ", 960<<10/48))
	for name, c := range map[string]struct {
		method string
		header http.Header
		status int
		reason any
	}{
		"nothing":              {http.MethodPost, http.Header{}, http.StatusUnauthorized, "signature"},
		"960 KB of signatures": {http.MethodPost, long, http.StatusUnauthorized, "signature"},
		"a forged token": {
			http.MethodPost, w.tokened("m1", w.token(nil, geminisim.TokenOptions{Key: geminisim.OtherKey()})),
			http.StatusUnauthorized, "signature",
		},
		"another method": {http.MethodPut, static, http.StatusMethodNotAllowed, nil},
		"a signature":    {http.MethodPost, static, http.StatusContinue, nil},
		"a token": {http.MethodPost, w.tokened("m1", w.token(nil, geminisim.TokenOptions{})), http.StatusContinue,
			nil},
	} {
		r := w.head(c.method, c.header)
		if r.StatusCode != c.status || r.Close != (c.status != http.StatusContinue) {
			t.Errorf("%s: %d, closing %t; want %d", name, r.StatusCode, r.Close, c.status)
		}
		if c.reason != nil {
			w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": c.reason})
		}
	}
}

// TestBodiesAtOnce: while many bodies are being read, those without room are answered 503 and
// counted. A delivery of ordinary size still finds room [W7].
func TestBodiesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const size = 900 << 10
	var senders []*io.PipeWriter // of bodies that have not ended
	ended := make(chan *httptest.ResponseRecorder)
	for full := false; !full; {
		body, sender := io.Pipe()
		sent := make(chan error, 1)
		go func() {
			_, err := sender.Write(make([]byte, size))
			_, more := sender.Write([]byte{0}) // it is read when the others have found room
			sent <- errors.Join(err, more)
		}()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
		r.Header = signed(other, "large", w.clock.Now(), nil)
		go func() {
			answer := httptest.NewRecorder()
			w.server.Config.Handler.ServeHTTP(answer, r)
			ended <- answer
		}()
		select {
		case <-sent:
			senders = append(senders, sender)
		case answer := <-ended:
			full = true
			_ = body.Close()
			w.want503(reply{Status: answer.Code, Header: answer.Header()}, 1)
		}
	}
	if len(senders) == 0 || len(senders)*size > 16<<20 {
		t.Errorf("%d bodies were read at a time", len(senders))
	}
	w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "overload", "severity": "WARNING"})
	w.wantAccepted(w.deliver("m1", event("batch.succeeded", "batches/a", t1)), "applied", "advanced", false)
	w.wantLog(map[string]any{"event": "ingest", "outcome": "applied"})
	for _, sender := range senders {
		_ = sender.CloseWithError(io.ErrUnexpectedEOF)
		if answer := <-ended; answer.Code != http.StatusBadRequest {
			t.Errorf("a body that broke off: %d, want 400", answer.Code)
		}
	}
}

// TestDividedAgain: a delivery whose id ends in a dot and a timestamp is refused, and so is the
// rest of one that was divided there. Both are counted apart from forgeries. Other dots are
// accepted [W1].
func TestDividedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	body := event("batch.succeeded", "batches/a", t1)
	stamp := strconv.FormatInt(w.clock.Now().Unix(), 10)
	genuine := signed(secret, "msg."+stamp, w.clock.Now(), []byte(body))
	divided := genuine.Clone()
	divided.Set("Webhook-Id", "msg")
	for name, c := range map[string]struct {
		header http.Header
		body   string
	}{
		"as it was sent":    {genuine, body},
		"divided elsewhere": {divided, stamp + "." + body},
	} {
		w.unwritten(func() {
			if r := w.request(http.MethodPost, c.header, strings.NewReader(c.body)); r.Status != http.StatusUnauthorized {
				t.Errorf("%s: %d %+v, want 401", name, r.Status, r.Body)
			}
		})
		w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "ambiguous-id"})
	}
	for _, id := range []string{"msg.a", "a.b.c", "msg." + stamp + "-1"} {
		if r := w.deliver(id, body); r.Status != http.StatusOK {
			t.Errorf("%s: %d %+v, want 200", id, r.Status, r.Body)
		}
	}
}
