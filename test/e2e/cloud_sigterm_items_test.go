package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// batchResult is a Gemini that has the result of one batch, n items in a file.
func batchResult(t *testing.T, n int) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ":download") {
			_, _ = io.WriteString(w, `{"response":{"responsesFile":"files/batch-a"}}`)
			return
		}
		for i := range n {
			_, _ = fmt.Fprintf(w, "{\"key\":\"review-%d\",\"response\":{}}\n", i)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// TestCloudSIGTERMBetweenItems: a deployed function that is told to stop in the middle of 1,500 items
// begins no item more. Those in progress end and are recorded, and no attempt is counted [S4].
func TestCloudSIGTERMBetweenItems(t *testing.T) {
	t.Parallel()
	const items, atOnce = 1500, 8
	c := newCloud(t)
	var begun atomic.Int64
	inProgress, answer := make(chan struct{}, items), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun.Add(1)
		inProgress <- struct{}{}
		<-answer
	}))
	t.Cleanup(receiver.Close)
	text := "[{name: publish, on: [SUCCEEDED], do: http, each: item, url: \"" + receiver.URL + "\"}]"
	l := c.planned(t, text, "batches/a")
	p := serveFunction(t, "Effects", append(c.variables(), "OPLEDGER_EFFECTS="+text,
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true", "GEMINI_API_KEY=k",
		"GOOGLE_GEMINI_BASE_URL="+batchResult(t, items).URL)...)
	answered := make(chan string)
	go func() {
		_, text, _, err := send(http.MethodPost, p.url()+"/"+c.topic(topicID),
			[]byte(push("batches/a", "publish")), http.Header{"Content-Type": {"application/json"}})
		if err != nil {
			t.Errorf("the push was not answered: %v", err)
		}
		answered <- string(text)
	}()
	for range atOnce {
		<-inProgress
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process has the signal", func() bool { return strings.Contains(p.tail(), "SIGTERM") })
	close(answer)
	if text := <-answered; !strings.Contains(text, `"outcome":"continued"`) {
		t.Errorf("answered %s", text)
	}
	wantExit0(t, p)
	story, err := l.Operations.Show(t.Context(), "batches/a")
	if err != nil {
		t.Fatal(err)
	}
	if n := begun.Load() - atOnce; n > 0 {
		t.Errorf("%d items were begun after the signal", n)
	}
	if e := story.Effects[0]; e.State != ledger.EffectPending || e.Attempts != 0 || e.Progress.Done != atOnce {
		t.Errorf("%+v", e)
	}
}
