package httpfunc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
)

// TestAwaitTurn: of large bodies two are decoded at a time, and small ones do not wait for them. A
// request whose time is over before its turn is refused, to be sent again [W7].
func TestAwaitTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var decoding, peak atomic.Int64
		h := httpfunc.OnlyPOST(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := httpfunc.ReadBody(w, r)
			if err != nil {
				t.Error(err)
			}
			end, err := httpfunc.AwaitTurn(r.Context(), body)
			if err != nil {
				httpfunc.WriteError(w, err)
				return
			}
			defer end()
			if len(body) > 64<<10 {
				peak.Store(max(peak.Load(), decoding.Add(1)))
				defer decoding.Add(-1)
				time.Sleep(time.Second)
			}
		}))
		send := func(ctx context.Context, size int) (status int, took time.Duration) {
			began, w := time.Now(), httptest.NewRecorder()
			body := strings.NewReader(strings.Repeat("x", size))
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", body))
			return w.Code, time.Since(began)
		}
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				if status, took := send(t.Context(), httpfunc.MaxBody); status != http.StatusOK || took > 3*time.Second {
					t.Errorf("a large body: %d after %v", status, took)
				}
			})
		}
		synctest.Wait()
		if status, took := send(t.Context(), 64<<10); status != http.StatusOK || took > 0 {
			t.Errorf("a small body: %d after %v", status, took)
		}
		hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		status, took := send(hurried, httpfunc.MaxBody)
		if status != http.StatusServiceUnavailable || took > time.Millisecond {
			t.Errorf("without time: %d after %v", status, took)
		}
		if group.Wait(); peak.Load() != 2 {
			t.Errorf("%d large bodies were decoded at a time", peak.Load())
		}
	})
	end, err := httpfunc.AwaitTurn(t.Context(), make([]byte, httpfunc.MaxBody))
	if err != nil {
		t.Errorf("a body beside OnlyPOST: %v", err)
	}
	end()
}
