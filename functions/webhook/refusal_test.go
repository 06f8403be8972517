package webhook_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// unwritten runs do and checks that the store is byte for byte what it was before.
func (w *world) unwritten(do func()) {
	w.Helper()
	before := w.stored()
	do()
	if after := w.stored(); !maps.Equal(before, after) {
		w.Errorf("the store changed from\n%v to\n%v", before, after)
	}
}

// TestVector: the documented test vector is accepted, sent as an independent sender would [W1].
func TestVector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.clock.Set(time.Unix(1700000000, 0))
	const body = `{"type":"batch.succeeded","version":"v1","timestamp":"2026-01-22T12:00:00Z",` +
		`"data":{"id":"batches/abc123"}}`
	r := w.request(http.MethodPost, http.Header{
		"webhook-id": {"msg_1"}, "webhook-timestamp": {"1700000000"},
		"webhook-signature": {"v1,Ji0fMZWrXihCWK0BcPBgtjRuughdnVgxaqEe7gDrUN8="},
	}, strings.NewReader(body))
	w.wantAccepted(r, "applied", "advanced", false)
	if got := w.show("batches/abc123").Record.State; got != "SUCCEEDED" {
		t.Errorf("state %s", got)
	}
}

// TestRefused: without a valid signature nothing is parsed and nothing written: 401 [W1].
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.register("batches/abc")
	const id = "msg_1"
	body := event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z")
	now := w.clock.Now()
	for name, change := range map[string]func(http.Header) string{
		"nothing":         func(h http.Header) string { clear(h); return body },
		"no signature":    func(h http.Header) string { h.Del("Webhook-Signature"); return body },
		"empty signature": func(h http.Header) string { h.Set("Webhook-Signature", ""); return body },
		"no id":           func(h http.Header) string { h.Del("Webhook-Id"); return body },
		"no timestamp":    func(h http.Header) string { h.Del("Webhook-Timestamp"); return body },
		"timestamp is a date": func(h http.Header) string {
			h.Set("Webhook-Timestamp",
				now.Format(time.RFC3339))
			return body
		},
		"another id":        func(h http.Header) string { h.Set("Webhook-Id", "msg_2"); return body },
		"another timestamp": func(h http.Header) string { h.Set("Webhook-Timestamp", "1700000001"); return body },
		"another body":      func(http.Header) string { return strings.Replace(body, "abc", "abd", 1) },
		"a byte more":       func(http.Header) string { return body + " " },
		"another secret":    func(h http.Header) string { maps.Copy(h, signed(other, id, now, []byte(body))); return body },
		"another scheme": func(h http.Header) string {
			h.Set("Webhook-Signature", "v2"+h.Get("Webhook-Signature")[2:])
			return body
		},
		"without its scheme": func(h http.Header) string {
			h.Set("Webhook-Signature",
				h.Get("Webhook-Signature")[3:])
			return body
		},
		"a prefix": func(h http.Header) string {
			h.Set("Webhook-Signature",
				h.Get("Webhook-Signature")[:20])
			return body
		},
		"a bare JWT":              func(h http.Header) string { h.Set("Webhook-Signature", "eyJh.eyJz.c2ln"); return body },
		"not JSON and not signed": func(h http.Header) string { h.Del("Webhook-Signature"); return "{" },
	} {
		h := signed(secret, id, now, []byte(body))
		sent := change(h)
		w.unwritten(func() {
			r := w.request(http.MethodPost, h, strings.NewReader(sent))
			if r.Status != http.StatusUnauthorized {
				t.Errorf("%s: %d, want 401", name, r.Status)
			}
			if strings.Contains(r.Body.Error.Message, "whsec_") {
				t.Errorf("%s: the answer tells the secret", name)
			}
		})
		w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "signature", "severity": "WARNING",
			"source": "webhook"})
	}
}

// TestStale: a valid signature whose time is outside the tolerance, either way, is refused and
// counted apart. Exactly the tolerance is accepted [W2].
func TestStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	body := []byte(event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z"))
	for _, off := range []time.Duration{-5*time.Minute - time.Second, 5*time.Minute + time.Second, -24 * time.Hour,
		24 * time.Hour} {
		at := w.clock.Now().Add(off)
		w.unwritten(func() {
			if r := w.request(http.MethodPost, signed(secret, "stale", at, body),
				bytes.NewReader(body)); r.Status != http.StatusUnauthorized {
				t.Errorf("%v off: %d, want 401", off, r.Status)
			}
		})
		w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "stale-timestamp", "delivery": "stale"})

		// Who does not know the secret cannot raise that count.
		w.unwritten(func() {
			if r := w.request(http.MethodPost, signed(other, "stale", at, body),
				bytes.NewReader(body)); r.Status != http.StatusUnauthorized {
				t.Errorf("forged, %v off: %d, want 401", off, r.Status)
			}
		})
		w.wantLog(map[string]any{"event": "auth", "reason": "signature"})
	}
	for i, off := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		h := signed(secret, "fresh-"+strconv.Itoa(i), w.clock.Now().Add(off), body)
		if r := w.request(http.MethodPost, h, bytes.NewReader(body)); r.Status != http.StatusOK {
			t.Errorf("%v off: %d, want 200", off, r.Status)
		}
	}
}

// TestMethods: every method but POST is answered 405 with Allow, signed or not [W7].
func TestMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	body := event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z")
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		w.unwritten(func() {
			r := w.request(method, signed(secret, "msg_1", w.clock.Now(), []byte(body)), strings.NewReader(body))
			if r.Status != http.StatusMethodNotAllowed || r.Header.Get("Allow") != http.MethodPost {
				t.Errorf("%s: %d, Allow %q", method, r.Status, r.Header.Get("Allow"))
			}
		})
	}
}

// TestTooLarge: a body over 1 MiB is answered 413, with or without a valid signature and a
// Content-Length. One of exactly 1 MiB is read [W7].
func TestTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	const most = 1 << 20
	large := bytes.Repeat([]byte("a"), most+1)
	for name, header := range map[string]http.Header{
		"signed": signed(secret, "large", w.clock.Now(), large), "forged": signed(other, "large", w.clock.Now(), large),
	} {
		for form, body := range map[string]io.Reader{"length": bytes.NewReader(large),
			"chunked": io.MultiReader(bytes.NewReader(large))} {
			w.unwritten(func() {
				if r := w.request(http.MethodPost, header, body); r.Status != http.StatusRequestEntityTooLarge {
					t.Errorf("%s, %s: %d, want 413", name, form, r.Status)
				}
			})
			w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "too-large"})
		}
	}
	w.wantAccepted(w.deliver("just", string(large[:most])), "quarantined", "malformed", false)
}

// TestNoSecret: before there is a secret every signed delivery is answered 503, so that it is
// redelivered. An empty key verifies nothing, and an unsigned delivery is refused as always [W1].
func TestNoSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{noSecret: true})
	body := event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z")
	for name, header := range map[string]http.Header{
		"signed with the empty key": signed("whsec_", "msg_1", w.clock.Now(), []byte(body)),
		"signed with some key":      signed(secret, "msg_1", w.clock.Now(), []byte(body)),
	} {
		w.unwritten(func() {
			r := w.request(http.MethodPost, header, strings.NewReader(body))
			if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); r.Status != http.StatusServiceUnavailable ||
				err != nil || seconds < 1 {
				t.Errorf("%s: %d, Retry-After %q", name, r.Status, r.Header.Get("Retry-After"))
			}
			if !strings.Contains(r.Body.Error.Message, "OPLEDGER_WEBHOOK_SECRET") {
				t.Errorf("%s: %q does not say what to do", name, r.Body.Error.Message)
			}
		})
		w.wantLog(map[string]any{"event": "auth", "reason": "no-secret"})
	}
	w.unwritten(func() {
		if r := w.request(http.MethodPost, http.Header{}, strings.NewReader(body)); r.Status != http.StatusUnauthorized {
			t.Errorf("not signed: %d, want 401", r.Status)
		}
	})
}

// TestStoreDown: while the store is down the answer is 503 with Retry-After. A later delivery is
// accepted [W3].
func TestStoreDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	for id, body := range map[string]string{
		"known":   event("batch.succeeded", "batches/abc", "2026-01-22T11:59:00Z"),
		"unknown": `{"type":"webhook.ping"}`,
		"broken":  "{",
	} {
		w.unwritten(func() {
			r := w.deliver(id, body)
			if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); r.Status != http.StatusServiceUnavailable ||
				err != nil || seconds < 1 {
				t.Errorf("%s: %d, Retry-After %q", id, r.Status, r.Header.Get("Retry-After"))
			}
		})
		w.wantLog(map[string]any{"event": "ingest", "outcome": "error", "severity": "ERROR", "delivery": id})
	}
	// An unsigned delivery is refused in the same way while the store is down.
	if r := w.request(http.MethodPost, http.Header{}, strings.NewReader("{}")); r.Status != http.StatusUnauthorized {
		t.Errorf("not signed: %d, want 401", r.Status)
	}
}

// TestBrokenOff: a signed body that ends before its Content-Length is answered 400, and nothing is
// written [W7]. The sender closes only its half of the connection, so that it gets the answer.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	whole := []byte(event("batch.succeeded", "batches/abc", t1))
	var text bytes.Buffer
	fmt.Fprintf(&text, "POST /webhook HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n", len(whole))
	if err := signed(secret, "broken", w.clock.Now(), whole).Write(&text); err != nil {
		t.Fatal(err)
	}
	text.WriteString("\r\n")
	text.Write(whole[:len(whole)/2])
	w.unwritten(func() {
		connection, err := net.Dial("tcp", w.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, err := connection.Write(text.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := connection.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("answered %s, want 400", response.Status)
		}
	})
	w.wantLog(map[string]any{"event": "auth", "outcome": "refused", "reason": "broken-off", "delivery": "broken"})
}

// TestUnverifiedLog: an unverified sender cannot cause long log lines.
func TestUnverifiedLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	if r := w.request(http.MethodPost, http.Header{"Webhook-Id": {strings.Repeat("x", 100<<10)}},
		strings.NewReader("{}")); r.Status != http.StatusUnauthorized {
		t.Errorf("%d, want 401", r.Status)
	}
	w.wantLog(map[string]any{"event": "auth", "delivery": strings.Repeat("x", 200)})
}
