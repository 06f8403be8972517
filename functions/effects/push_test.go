package effects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// TestPushesAtOnce: all pushes share one bound on the bodies that are being read. One beyond it is
// answered 503, to be redelivered, and is not counted as malformed [W7].
func TestPushesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const size = 900 << 10
	var senders []*io.PipeWriter // of bodies that have not ended
	statuses := make(chan int)
	for refused := false; !refused && len(senders) < 20; {
		body, sender := io.Pipe()
		sent := make(chan error, 1)
		go func() {
			_, err := sender.Write(make([]byte, size))
			_, more := sender.Write([]byte{0}) // it is read when the others have found room
			sent <- errors.Join(err, more)
		}()
		go func() {
			answer := httptest.NewRecorder()
			w.function.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body))
			statuses <- answer.Code
		}()
		select {
		case <-sent:
			senders = append(senders, sender)
		case status := <-statuses:
			refused = true
			_ = body.Close()
			if status != http.StatusServiceUnavailable {
				t.Errorf("answered %d, want 503", status)
			}
		}
	}
	if len(senders) == 0 || len(senders)*size > 16<<20 {
		t.Errorf("%d bodies were read at a time", len(senders))
	}
	if !strings.Contains(w.log.String(), `"outcome":"error"`) || strings.Contains(w.log.String(), "malformed") {
		t.Errorf("logged %s, want an error", w.log)
	}
	for _, sender := range senders {
		_ = sender.Close()
		if status := <-statuses; status != http.StatusBadRequest {
			t.Errorf("a body that came to its end: %d, want 400", status)
		}
	}
	if n := strings.Count(w.log.String(), `"outcome":"malformed"`); n != len(senders) {
		t.Errorf("%d of %d are malformed: %s", n, len(senders), w.log)
	}
}

// TestOutcomes: a message in every form and with every outcome is answered 2xx once the ledger has
// recorded it [S10].
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for form, make := range forms {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, c := range []struct {
				effect          string
				status          int
				outcome, reason string
				attempt         int
			}{
				{"finishes", 200, "finished", "claimed", 1},
				{"finishes", 200, "skipped", "done", 0},
				{"fails", 200, "failed", "claimed", 1},
				{"fails", 200, "early", "backing-off", 0},
				{"dies", 200, "dead", "claimed", 1},
				{"dies", 200, "skipped", "dead", 0},
				{"hangs", 200, "held", "held", 0},
				{"stranger", 200, "unknown", "claimed", 0},
				{"absent", 200, "skipped", "absent", 0},
			} {
				header, body := make(message(c.effect))
				r := w.request(http.MethodPost, header, body)
				if r.Status != c.status || r.Body.Outcome != c.outcome || r.Body.Reason != c.reason || r.Body.Attempt != c.attempt {
					t.Errorf("%s: %d %s, want %+v", c.effect, r.Status, r.Text, c)
				}
			}
			if got := strings.Join(w.ran, " "); got != "finishes fails dies" {
				t.Errorf("performed %s", got)
			}
			w.server.Close()
			decoder := json.NewDecoder(w.log)
			for _, want := range []string{
				"finished INFO", "skipped INFO", "failed WARNING", "early INFO", "dead ERROR", "dead-effect", "skipped INFO",
				"held INFO",
				"unknown WARNING", "unknown-effect", "skipped INFO",
			} {
				var line map[string]any
				if err := decoder.Decode(&line); err != nil {
					t.Fatal(err)
				}
				if line["event"] == "alert" {
					if line["reason"] != want || line["operation"] != string(key) || line["effect"] == nil ||
						line["severity"] != "ERROR" || line["error"] == nil {
						t.Errorf("alert %v, want %s", line, want)
					}
					continue
				}
				if fmt.Sprintf("%s %s", line["outcome"], line["severity"]) != want || line["event"] != "effect" ||
					line["operation"] != string(key) ||
					line["effect"] == nil || line["duration_ms"] == nil || line["fence"] == nil || line["attempt"] == nil {
					t.Errorf("logged %v, want %s", line, want)
				}
			}
		})
	}
}

// TestMalformed: the answer is 400 with what the message must be, and nothing is performed.
func TestMalformed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range malformed {
		r := w.request(http.MethodPost, c.header, c.body)
		if r.Status != http.StatusBadRequest || !strings.Contains(r.Body.Error.Message, c.says) {
			t.Errorf("%s: %d %s, want 400 that says %s", name, r.Status, r.Text, c.says)
		}
	}
	if len(w.ran) != 0 {
		t.Errorf("performed %v", w.ran)
	}
}

// TestRefused: 405, 413, and 503 while the ledger cannot be read.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		if r := w.request(method, nil, push(message("finishes"))); r.Status != http.StatusMethodNotAllowed ||
			r.Header.Get("Allow") != "POST" {
			t.Errorf("%s: %d %v", method, r.Status, r.Header)
		}
	}
	large := push(message("finishes")) + strings.Repeat(" ", 1<<20)
	for form, header := range map[string]http.Header{"plain": nil, "binary": binary(), "structured": structuredHeader} {
		if r := w.request(http.MethodPost, header, large); r.Status != http.StatusRequestEntityTooLarge {
			t.Errorf("large, %s: %d %s", form, r.Status, r.Text)
		}
	}
	if n := strings.Count(w.log.String(), `"outcome":"malformed"`); n != 3 {
		t.Errorf("%d are malformed: %s", n, w.log)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.log.Reset()
	r := w.request(http.MethodPost, nil, push(message("finishes")))
	if seconds, err := strconv.Atoi(r.Header.Get("Retry-After")); r.Status != http.StatusServiceUnavailable ||
		err != nil || seconds < 1 {
		t.Errorf("the store is down: %d %v", r.Status, r.Header)
	}
	if !strings.Contains(w.log.String(), `"message":"effect not attempted"`) {
		t.Errorf("the store is down: logged %s", w.log)
	}
	if len(w.ran) != 0 {
		t.Errorf("performed %v", w.ran)
	}
}

// TestGoneBeforeItsTurn: a large message whose sender has gone is not decoded [W7].
func TestGoneBeforeItsTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answer := httptest.NewRecorder()
	newWorld(t).function.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodPost, "/",
		strings.NewReader(push(message("finishes"))+strings.Repeat(" ", 70<<10))))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", answer.Code, answer.Body)
	}
}
