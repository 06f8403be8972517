package console

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// counting counts the lists that are read of a store.
type counting struct {
	ledger.Store
	lists atomic.Int64
}

func (c *counting) Query(ctx context.Context, q ledger.Query) ([]ledger.Document, error) {
	c.lists.Add(1)
	return c.Store.Query(ctx, q)
}

// stream opens the stream of a page. Its line returns the next line that contains a text.
func stream(t *testing.T, url string) (line func(contains string) string, leave func()) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("%d %s", response.StatusCode, got)
	}
	lines := bufio.NewScanner(response.Body)
	return func(contains string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), contains) {
				return lines.Text()
			}
		}
		t.Errorf("the stream ended without %q: %v", contains, lines.Err())
		return ""
	}, leave
}

// TestLive: a page is sent again when it has changed, and else said to be unchanged. It is read once for all its
// watchers, and not at all without one. Closing the console ends its streams.
func TestLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	store := &counting{Store: w.store}
	w.console.ledger = w.over(store)
	server := httptest.NewServer(w.console)
	defer server.Close()
	address := server.URL + "/console/intents?live=1"
	first, leave := stream(t, address)
	first("No intent waits for its operation.")
	first("event: unchanged")
	second, leaveSecond := stream(t, address)
	second("No intent waits for its operation.")
	if n := w.console.live.count(); n != 1 {
		t.Errorf("%d pages are read for two watchers of one", n)
	}
	_, err := w.Intents.Intend(t.Context(), ledger.Intention{Submission: operation.Submission{CorrelationID: "night-3"}})
	w.do(err)
	if line := first("night-3"); !strings.HasPrefix(line, "data: ") {
		t.Errorf("%q", line)
	}
	second("night-3")
	leave()
	leaveSecond()
	w.until(func() bool { return w.console.live.count() == 0 })
	read := store.lists.Load()
	third, _ := stream(t, address)
	third("night-3")
	if store.lists.Load() == read {
		t.Error("a new watcher was sent what was read for the others")
	}
	w.console.Close()
	w.until(func() bool { return w.console.live.count() == 0 })
}

// until waits for a condition, which another goroutine fulfils.
func (w *world) until(condition func() bool) {
	w.Helper()
	limit := time.After(5 * time.Minute)
	for !condition() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-limit:
			w.Fatal("not within five minutes")
		}
	}
}

// count is how many pages are watched.
func (l *live) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watched)
}

// TestMessage: no text ends its line or its event early, whatever line ends it has.
func TestMessage(t *testing.T) {
	t.Parallel()
	got := string(message([]byte("a\r\rb\r\nc\n\nd")))
	if want := "data: a\ndata: \ndata: b\ndata: c\ndata: \ndata: d\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
