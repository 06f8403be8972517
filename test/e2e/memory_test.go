package e2e

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
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

// memoryLimit is the memory of a deployed function, in bytes.
const memoryLimit = 512 << 20

// TestCloudBodiesMemory: 64 signed bodies of the largest size at once, made of the shortest members,
// do not end a function with 512 MiB. Each is accepted, or refused to be sent again [W7].
func TestCloudBodiesMemory(t *testing.T) {
	t.Parallel()
	const atOnce, size = 64, 1 << 20
	c := newCloud(t)
	p := serveFunction(t, "Webhook", append(c.variables(), "OPLEDGER_WEBHOOK_SECRET="+secret)...)
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
