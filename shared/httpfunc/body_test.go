package httpfunc_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
)

// TestReadBody: a body of at most 1 MiB is read whole [W7].
func TestReadBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body   io.Reader
		length int
		status int
	}{
		"nothing":     {strings.NewReader(""), 0, 200},
		"the largest": {strings.NewReader(strings.Repeat("x", httpfunc.MaxBody)), httpfunc.MaxBody, 200},
		"a byte more": {strings.NewReader(strings.Repeat("x", httpfunc.MaxBody+1)), 0, 413},
		"endless":     {endless{}, 0, 413},
		"broken off":  {iotest.ErrReader(io.ErrUnexpectedEOF), 0, 400},
	} {
		w := httptest.NewRecorder()
		body, err := httpfunc.ReadBody(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", c.body))
		if err != nil {
			httpfunc.WriteError(w, err)
			decode(t, w)
		}
		if w.Code != c.status || len(body) != c.length {
			t.Errorf("%s: %d with %d bytes, %v", name, w.Code, len(body), err)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestTooLargeByItsHeader: not a byte is read of a body whose Content-Length is too large [W7].
func TestTooLargeByItsHeader(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", iotest.ErrReader(io.ErrUnexpectedEOF))
	r.ContentLength = httpfunc.MaxBody + 1
	w := httptest.NewRecorder()
	_, err := httpfunc.ReadBody(w, r)
	httpfunc.WriteError(w, err)
	if decode(t, w); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %v", w.Code, err)
	}
}

// A pipe is a listener whose connections are in memory, so that a synctest bubble's clock rules
// their deadlines.
type pipe struct{ connections chan net.Conn }

func (p pipe) Accept() (net.Conn, error) {
	if c, ok := <-p.connections; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (pipe) Close() error   { return nil }
func (pipe) Addr() net.Addr { return &net.TCPAddr{} }

// listen serves h as the functions framework does, without time-outs, until stop is called.
func listen(h http.Handler) (dial func() net.Conn, stop func()) {
	p := pipe{make(chan net.Conn)}
	server := &http.Server{Handler: h} //nolint:gosec // the framework sets no time-outs either
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(p)
	}()
	dial = func() net.Conn {
		here, there := net.Pipe()
		p.connections <- there
		return here
	}
	return dial, func() {
		close(p.connections)
		_ = server.Close()
		<-ended
	}
}

// head is a request without its body.
func head(method string, length int) string {
	return fmt.Sprintf("%s / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", method, length)
}

// read reads the whole body and answers 200 with its length.
func read(w http.ResponseWriter, r *http.Request) {
	body, err := httpfunc.ReadBody(w, r)
	if err != nil {
		httpfunc.WriteError(w, err)
		return
	}
	httpfunc.WriteJSON(w, http.StatusOK, len(body))
}

// TestSlowSender: a body has 10 s to arrive, even if bytes keep coming. An answer that needs no
// body does not wait for it. In both cases the connection is closed [W7].
func TestSlowSender(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, _ *http.Request) {
		httpfunc.WriteError(w, &httpfunc.Error{Status: http.StatusUnauthorized, Message: "no"})
	}
	for name, c := range map[string]struct {
		method  string
		handler http.HandlerFunc
		status  int
		after   time.Duration
	}{
		"read":            {http.MethodPost, read, http.StatusRequestTimeout, httpfunc.BodyTime},
		"refused at once": {http.MethodPost, refuse, http.StatusUnauthorized, 0},
		"another method":  {http.MethodPut, read, http.StatusMethodNotAllowed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dial, stop := listen(httpfunc.OnlyPOST(c.handler))
				defer stop()
				sender, began := dial(), time.Now()
				dripped := make(chan time.Duration)
				go func() {
					_, err := io.WriteString(sender, head(c.method, 100_000))
					for err == nil {
						time.Sleep(time.Second)
						_, err = io.WriteString(sender, "x")
					}
					dripped <- time.Since(began)
				}()
				answers := bufio.NewReader(sender)
				response, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); response.StatusCode != c.status || took != c.after || !response.Close {
					t.Errorf("%d after %s, closing %t; want %d after %s", response.StatusCode, took, response.Close, c.status, c.after)
				}
				if _, err := io.Copy(io.Discard, answers); err != nil {
					t.Error(err)
				}
				if took := <-dripped; took > httpfunc.BodyTime+2*time.Second {
					t.Errorf("it could send for %s", took)
				}
			})
		})
	}
}

// TestBodyInTime: a body that takes nearly 10 s is read, and the function that runs afterwards has
// no such limit. The connection is kept for the next request.
func TestBodyInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dial, stop := listen(httpfunc.OnlyPOST(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := httpfunc.ReadBody(w, r)
			if err != nil {
				httpfunc.WriteError(w, err)
				return
			}
			select {
			case <-r.Context().Done():
				t.Error("its context ended with the time for the body")
			case <-time.After(time.Hour):
			}
			httpfunc.WriteJSON(w, http.StatusOK, len(body))
		})))
		defer stop()
		sender := dial()
		answers := bufio.NewReader(sender)
		for range 2 {
			go func() {
				_, _ = io.WriteString(sender, head(http.MethodPost, 9))
				for range 9 {
					time.Sleep(time.Second)
					_, _ = io.WriteString(sender, "x")
				}
			}()
			response, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != http.StatusOK || string(text) != "9\n" || response.Close {
				t.Errorf("%d %q %v, closing %t", response.StatusCode, text, err, response.Close)
			}
		}
		sender.Close()
	})
}

// TestRoom: all bodies that are being handled have a bound together. Beyond it the answer is 503,
// for large bodies earlier than for small ones. A request's bytes are free after its answer [W7].
func TestRoom(t *testing.T) {
	t.Parallel()
	const large, small, room = 900 << 10, 1 << 10, 16 << 20
	entered, leave := make(chan bool), make(chan struct{})
	h := httpfunc.OnlyPOST(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := httpfunc.ReadBody(w, r)
		entered <- err == nil
		if err != nil {
			httpfunc.WriteError(w, err)
			return
		}
		<-leave
		httpfunc.WriteJSON(w, http.StatusOK, nil)
	}))
	ended := make(chan *httptest.ResponseRecorder)
	send := func(size int) bool {
		go func() {
			w := httptest.NewRecorder()
			body := bytes.NewReader(make([]byte, size))
			h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", body))
			ended <- w
		}()
		return <-entered
	}
	refused := func(what string) {
		t.Helper()
		w := <-ended
		if decode(t, w); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %v", what, w.Code, w.Header())
		}
	}
	fill := func() (bytes, requests int) {
		t.Helper()
		for ; send(large); requests++ {
			bytes += large
		}
		refused("one large body more")
		if bytes > room*3/4 || bytes+large <= room*3/4 {
			t.Errorf("%d bytes of large bodies were accepted", bytes)
		}
		return bytes, requests
	}
	held, requests := fill()
	for ; send(small); requests++ {
		held += small
	}
	refused("one small body more")
	if held > room || held+small <= room {
		t.Errorf("%d bytes were accepted together", held)
	}
	for range requests {
		leave <- struct{}{}
		<-ended
	}
	_, requests = fill()
	for range requests {
		leave <- struct{}{}
		<-ended
	}
}
