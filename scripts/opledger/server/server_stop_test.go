package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestServeReleases: an effect that does not end within the time for shutdown is cut off and
// released, so that its lease need not run out. The attempt is not counted [S4].
func TestServeReleases(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 1)
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then is it seen that the caller has gone
		entered <- struct{}{}
		<-r.Context().Done()
	}))
	defer sink.Close()
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), sink.URL, Options{Shutdown: 50 * time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, listener) }()
	end(t, s.Ledger)
	<-entered
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if e := theEffect(t, s); e.State != ledger.EffectPending || e.Attempts != 0 || e.Fence != 1 {
		t.Errorf("%+v", e)
	}
}

// TestServeStopsBetweenItems: a server that is told to stop in the middle of 1,500 items begins no
// item more, nor an effect whose message is in its queue. It ends as soon as what is in progress has
// ended, and counts no attempt [S4].
func TestServeStopsBetweenItems(t *testing.T) {
	t.Parallel()
	const items, effects, atOnce = 1500, 2, 8
	gemini := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/batches/a") {
			_, _ = io.WriteString(w, `{"response":{"responsesFile":"files/batch-a"}}`)
			return
		}
		for i := range items {
			_, _ = fmt.Fprintf(w, "{\"key\":\"review-%d\",\"response\":{}}\n", i)
		}
	}))
	defer gemini.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var begun atomic.Int64
	answer := make(chan struct{})
	inProgress := make(chan struct{}, items*effects)
	sink := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun.Add(1)
		inProgress <- struct{}{}
		<-answer
	}))
	defer sink.Close()
	rule := `{name: %s, do: http, url: %q, on: [SUCCEEDED], each: item}`
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), sink.URL, Options{Workers: 1},
		"GOOGLE_GEMINI_BASE_URL="+gemini.URL,
		fmt.Sprintf("OPLEDGER_EFFECTS=["+rule+","+rule+"]", "first", sink.URL, "second", sink.URL))
	served := make(chan error)
	go func() { served <- s.Serve(ctx, listener) }()
	end(t, s.Ledger)
	for range atOnce {
		<-inProgress
	}
	cancel()
	close(answer)
	if err := <-served; err != nil {
		t.Error(err)
	}
	if n := begun.Load() - atOnce; n > 0 {
		t.Errorf("%d items were begun after the signal", n)
	}
	story, err := s.Ledger.Operations.Show(t.Context(), "batches/a")
	if err != nil {
		t.Fatal(err)
	}
	done := int64(0)
	for _, e := range story.Effects {
		if e.State != ledger.EffectPending || e.Attempts != 0 || e.ClaimableAt.After(time.Now()) {
			t.Errorf("%+v", e)
		}
		if e.Progress != nil {
			done += e.Progress.Done
		}
	}
	if done != atOnce {
		t.Errorf("%d items are recorded as done, want %d", done, atOnce)
	}
}

// TestServeEndsRequests: an effect that another process asked for over HTTP ends as one of the queue
// does: it has its time, and is then released [S4].
func TestServeEndsRequests(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{}, 1)
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then is it seen that the caller has gone
		entered <- struct{}{}
		<-r.Context().Done()
	}))
	defer sink.Close()
	s, listener := open(t, filepath.Join(t.TempDir(), "ledger.db"), sink.URL,
		Options{Shutdown: 50 * time.Millisecond, Publisher: loser{}})
	ctx, cancel := context.WithCancel(t.Context())
	served, answered := make(chan error), make(chan string)
	go func() { served <- s.Serve(ctx, listener) }()
	end(t, s.Ledger)
	go func() {
		const push = `{"message":{"data":"eyJvcGVyYXRpb24iOiJiYXRjaGVzL2EiLCJlZmZlY3QiOiJwdWJsaXNoIiwiYXR0ZW1wdCI6MX0="}}`
		r, err := http.Post("http://"+listener.Addr().String()+"/effects", "application/json", strings.NewReader(push))
		if err != nil {
			answered <- err.Error()
			return
		}
		text, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		answered <- string(text)
	}()
	<-entered
	cancel()
	if answer := <-answered; !strings.Contains(answer, `"outcome":"continued"`) {
		t.Errorf("answered %s", answer)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if e := theEffect(t, s); e.State != ledger.EffectPending || e.Attempts != 0 {
		t.Errorf("%+v", e)
	}
	http.DefaultClient.CloseIdleConnections()
}
