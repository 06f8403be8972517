package server

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// serve runs a server whose one effect goes to sink, until the test ends. Without a key it has no
// Reconciler.
func serve(t *testing.T, sink string, key bool, interval string, options Options) (s *Server, url string) {
	t.Helper()
	settings, err := config.Parse[Settings]([]string{
		"GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1", "OPLEDGER_EFFECT_ALLOW_PRIVATE=true",
		"OPLEDGER_INTERVAL=" + interval,
		fmt.Sprintf("OPLEDGER_EFFECTS=[{name: publish, do: http, url: %q, on: [SUCCEEDED]}]", sink),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !key {
		settings.Gemini = config.Gemini{}
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	options.Store, options.Now = store, time.Now
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if s, err = New(t.Context(), settings, options); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		for _, err := range []error{<-served, s.Close(), store.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return s, "http://" + listener.Addr().String()
}

// A forgetter loses the first message and publishes the others.
type forgetter struct {
	ledger.Publisher
	lost *atomic.Bool
}

func (f forgetter) Publish(ctx context.Context, m ledger.Message) error {
	if f.lost.CompareAndSwap(false, true) {
		return nil
	}
	return f.Publisher.Publish(ctx, m)
}

// awaited fails the test if nothing arrives in time.
func awaited(t *testing.T, arrived <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-arrived:
	case <-time.After(5 * time.Minute):
		t.Fatal(what)
	}
}

// TestServeSweepsAnyway: a server without passes, for lack of a key or by its settings, still
// publishes due effects: nothing else retries a message that was lost [R5].
func TestServeSweepsAnyway(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		key      bool
		schedule time.Duration
	}{
		"without a key":      {schedule: time.Hour},
		"without a schedule": {key: true},
		"without both":       {},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			arrived := make(chan struct{}, 10)
			sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }))
			defer sink.Close()
			expired := make(chan struct{}, 1)
			var lost atomic.Bool
			s, _ := serve(t, sink.URL, c.key, "20ms", Options{
				Schedule: c.schedule,
				Wrap:     func(p ledger.Publisher) ledger.Publisher { return forgetter{p, &lost} },
				Expire: func(context.Context) (int64, error) {
					select {
					case expired <- struct{}{}:
					default:
					}
					return 0, nil
				},
			})
			awaited(t, expired, "the first sweep was not made at once")
			end(t, s.Ledger)
			awaited(t, arrived, "the effect was not taken up")
		})
	}
}

// TestServeBringsFailuresBack: a failed effect whose message was acknowledged is retried by a timer
// in the process, long before the next pass, also if the message was pushed to /effects [S10].
func TestServeBringsFailuresBack(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 10)
	var attempts atomic.Int64
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if attempts.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		arrived <- struct{}{}
	}))
	defer sink.Close()
	s, url := serve(t, sink.URL, true, "1h", Options{Wrap: func(ledger.Publisher) ledger.Publisher { return loser{} }})
	end(t, s.Ledger)
	data := base64.StdEncoding.EncodeToString([]byte(`{"operation":"batches/a","effect":"publish","attempt":1}`))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/effects",
		strings.NewReader(fmt.Sprintf(`{"message":{"data":%q}}`, data)))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if said, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK ||
		!strings.Contains(string(said), `"outcome":"failed"`) {
		t.Errorf("%d %s %v", response.StatusCode, said, err)
	}
	awaited(t, arrived, "the effect was not tried again")
}
