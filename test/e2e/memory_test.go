package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/test/harness"
)

// peak returns how many bytes of memory a process has had resident at most: by /proc, since what the
// kernel says of a process that has ended counts what its parent had when it was started. It is 0
// where that is not known.
func (p *process) peak(t *testing.T) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		t.Errorf("the memory of %s: %v", p.id, err)
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		t.Errorf("the memory of %s: %v", p.id, err)
	}
	return kilobytes << 10
}

// serveMeasured is serveFunction with a program whose memory can be measured.
func serveMeasured(t *testing.T, function string, variables ...string) *process {
	t.Helper()
	program, err := buildMeasured()
	if err != nil {
		t.Fatal(err)
	}
	return serveFunctionOf(t, program, function, variables...)
}

// memoryLimit is the memory of a deployed function, in bytes.
const memoryLimit = 512 << 20

// TestCloudBodiesMemory: 64 signed bodies of the largest size at once, made of the shortest members,
// do not end a function with 512 MiB. Each is accepted, or refused to be sent again [W7].
func TestCloudBodiesMemory(t *testing.T) {
	t.Parallel()
	const atOnce, size = 64, 1 << 20
	c := newCloud(t)
	p := serveMeasured(t, "Webhook", append(c.variables(), "OPLEDGER_WEBHOOK_SECRET="+secret)...)
	statuses := map[int]int{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for i := range atOnce {
		group.Go(func() {
			body := fmt.Sprintf(`{"type":"batch.succeeded","data":{"id":"batches/b%d","x":[%s0]}}`, i,
				strings.Repeat(`{"a":1},`, (size-200)/8))
			status, _, _, err := send(http.MethodPost, p.url(), []byte(body),
				signed(secret, fmt.Sprint("msg_", i), time.Now(), body))
			mu.Lock()
			defer mu.Unlock()
			if err != nil { // a request that is refused before its body was read is cut off
				status = http.StatusServiceUnavailable
			}
			statuses[status]++
		})
	}
	group.Wait()
	accepted := statuses[http.StatusOK]
	refused := statuses[http.StatusServiceUnavailable] + statuses[http.StatusRequestTimeout] // on a slow machine
	if accepted == 0 || accepted+refused != atOnce {
		t.Errorf("answered %v", statuses)
	}
	if peak := p.peak(t); peak > memoryLimit/2 {
		t.Errorf("it had %d MiB", peak>>20)
	}
}

// TestCloudItemsMemory: ten results whose items have 30 MiB are performed at once in a function with
// 512 MiB, outside of the gate six. It stays under 400 MB, because the later items wait for room, and every item is
// done [S4].
func TestCloudItemsMemory(t *testing.T) {
	t.Parallel()
	const size = 30 << 20
	effects := 6 // without room for all of them: an item is in memory up to five times
	if harness.Thorough(t) {
		effects = 10
	}
	c := newCloud(t)
	filler := strings.Repeat("y", 1<<20)
	gemini := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ":download") {
			_, _ = io.WriteString(w, `{"response":{"responsesFile":"files/batch-a"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"key":"review-0","response":{"text":"`)
		for range size >> 20 {
			_, _ = io.WriteString(w, filler)
		}
		_, _ = io.WriteString(w, "\"}}\n")
	}))
	t.Cleanup(gemini.Close)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(receiver.Close)
	var rules []string
	for i := range effects {
		rules = append(rules, fmt.Sprintf("{name: publish%d, on: [SUCCEEDED], do: http, each: item, url: %q, timeout: 5m}",
			i, receiver.URL))
	}
	text := "[" + strings.Join(rules, ",") + "]"
	l := c.planned(t, text, "batches/a")
	p := serveMeasured(t, "Effects", append(c.variables(), "OPLEDGER_EFFECTS="+text, "GOMEMLIMIT=358MiB",
		"OPLEDGER_EFFECT_ALLOW_PRIVATE=true", "GEMINI_API_KEY=k", "GOOGLE_GEMINI_BASE_URL="+gemini.URL)...)
	var group sync.WaitGroup
	waits := &http.Client{Timeout: patience} // until the items before it have left the memory
	t.Cleanup(waits.CloseIdleConnections)
	for i := range effects {
		group.Go(func() {
			status, answer, _, err := sendBy(waits, http.MethodPost, p.url()+"/"+c.topic(topicID),
				[]byte(push("batches/a", fmt.Sprint("publish", i))), http.Header{"Content-Type": {"application/json"}})
			if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"outcome":"finished"`) {
				t.Errorf("answered %d %s, %v", status, answer, err)
			}
		})
	}
	group.Wait()
	if peak := p.peak(t); peak > 400_000_000 {
		t.Errorf("it had %d MB", peak/1_000_000)
	}
	story, err := l.Operations.Show(t.Context(), "batches/a")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range story.Effects {
		if e.State != ledger.EffectDone || e.Attempts != 1 {
			t.Errorf("%s: %s after %d attempts", e.Name, e.State, e.Attempts)
		}
	}
}
