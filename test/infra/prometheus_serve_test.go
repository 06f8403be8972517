package infra_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/test/commandtest"
)

// A served is opledger serve, with a receiver of its effects.
type served struct {
	commandtest.Served
	t       *testing.T
	metrics string // the address
	gemini  *geminisim.Sim
	answer  atomic.Int32
	made    atomic.Int64
	stop    func()
}

// newServed starts serve as infra/prometheus/README.md says, with its metrics at an address.
func newServed(t *testing.T, at string) *served {
	t.Helper()
	gemini := geminisim.New(geminisim.Config{Seed: 1})
	s := &served{t: t, metrics: at, gemini: gemini}
	s.answer.Store(http.StatusOK)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(s.answer.Load()))
	}))
	t.Cleanup(receiver.Close)
	api := httptest.NewServer(gemini.Handler())
	t.Cleanup(func() { gemini.Close(); api.Close() })
	flag, _, _ := strings.Cut(after(t, documented(t), "$ opledger serve "), " ")
	s.Served = commandtest.Serving(t, []string{
		"OPLEDGER_WEBHOOK_SECRET=" + secret, "OPLEDGER_INTERVAL=1s", "OPLEDGER_GRACE=1ms",
		"GOOGLE_GEMINI_BASE_URL=" + api.URL, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, on: [SUCCEEDED], do: http, url: %q}]", receiver.URL),
	}, flag, at)
	stopped := false
	s.stop = func() {
		if !stopped {
			stopped = true
			s.Served.Stop()
		}
	}
	t.Cleanup(s.stop)
	return s
}

func documented(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "infra", "prometheus", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func after(t *testing.T, text, mark string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, mark)
	if !found {
		t.Fatalf("infra/prometheus/README.md has no %q", mark)
	}
	return rest
}

// send posts a body to serve.
func (s *served) send(path string, header http.Header, body string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = header
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

// deliver sends what Gemini would: the id, the time and the secret may be others.
func (s *served) deliver(id, body, secret string, at time.Time) {
	s.t.Helper()
	s.send("/webhook", delivery(id, at, geminisim.Sign(secret, id, at, []byte(body))), body)
}

// next is a number that no other delivery or batch has.
func (s *served) next() string { return strconv.FormatInt(s.made.Add(1), 10) }

// ends delivers the end of a batch, which was registered or not.
func (s *served) ends(registered bool, kinds ...string) {
	s.t.Helper()
	name := "batches/b" + s.next()
	if registered {
		s.send("/register", http.Header{}, fmt.Sprintf(`{"name":%q}`, name))
	}
	for _, kind := range kinds {
		s.deliver("m"+s.next(), fmt.Sprintf(`{"type":"batch.%s","version":"v1","timestamp":%q,"data":{"id":%q}}`, kind,
			time.Now().Format(time.RFC3339), name), secret, time.Now())
	}
}

// healthy registers a batch, which a pass finds to have succeeded.
func (s *served) healthy() {
	s.t.Helper()
	name := commandtest.Batch(s.t, s.gemini, "healthy", geminisim.StateSucceeded)
	s.send("/register", http.Header{}, fmt.Sprintf(`{"name":%q}`, name))
}

// troubles are what callers of serve, its receiver and Gemini can do to it, by the signal that counts it.
func (s *served) troubles() map[string]func(times int) {
	repeat := func(do func()) func(int) {
		return func(times int) {
			for range times {
				do()
			}
		}
	}
	receiver := func(status int32) func(int) {
		return func(times int) {
			s.answer.Store(status)
			repeat(func() { s.ends(true, "succeeded") })(times)
		}
	}
	return map[string]func(int){
		"refused":           repeat(func() { s.deliver("m"+s.next(), "{}", other, time.Now()) }),
		"stale":             repeat(func() { s.deliver("m"+s.next(), "{}", secret, time.Now().Add(-time.Hour)) }),
		"misread":           repeat(func() { s.deliver("m."+s.next(), "{}", secret, time.Now()) }),
		"quarantined":       repeat(func() { s.deliver("m"+s.next(), `{"type":`, secret, time.Now()) }),
		"conflicts":         repeat(func() { s.ends(true, "succeeded", "failed") }),
		"unmatched":         repeat(func() { s.ends(false, "succeeded") }),
		"effects-failing":   receiver(http.StatusServiceUnavailable),
		"effects-dead":      receiver(http.StatusGone),
		"effects-malformed": repeat(func() { s.send("/effects", http.Header{}, push("no JSON")) }),
	}
}
