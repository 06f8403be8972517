package httpfunc_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/shared/httpfunc"
)

// TestStalledBody: a body that holds more than 8 KiB must bring 512 KiB in every 2 s. A smaller one,
// which takes no room from others, has its 10 s [W7].
func TestStalledBody(t *testing.T) {
	t.Parallel()
	const kib = 1 << 10
	for name, c := range map[string]struct {
		length, at, then int // bytes: of the whole, sent at once, and in every second after that
		status           int
		after            time.Duration
	}{
		"half-sent":         {300 * kib, 150 * kib, 0, http.StatusRequestTimeout, 2 * time.Second},
		"dripping":          {300 * kib, 150 * kib, 1 * kib, http.StatusRequestTimeout, 2 * time.Second},
		"small, half-sent":  {300 * kib, 8 * kib, 0, http.StatusRequestTimeout, httpfunc.BodyTime},
		"nearly at once":    {1024 * kib, 1024*kib - 1, 0, http.StatusRequestTimeout, 2 * time.Second},
		"as fast as it has": {1024 * kib, 9 * kib, 513 * kib, http.StatusOK, 2 * time.Second},
		"a small rest":      {300 * kib, 290 * kib, 10 * kib, http.StatusOK, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				dial, stop := listen(httpfunc.OnlyPOST(http.HandlerFunc(read)))
				defer stop()
				sender, began := dial(), time.Now()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					text := head(http.MethodPost, c.length) + strings.Repeat("x", c.at)
					_, err := io.WriteString(sender, text)
					for left := c.length - c.at; err == nil && left > 0 && c.then > 0; left -= c.then {
						time.Sleep(time.Second)
						_, err = io.WriteString(sender, strings.Repeat("x", min(c.then, left)))
					}
				}()
				answers := bufio.NewReader(sender)
				response, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); response.StatusCode != c.status || took != c.after {
					t.Errorf("%d after %s, want %d after %s", response.StatusCode, took, c.status, c.after)
				}
				if response.Close {
					_, _ = io.Copy(io.Discard, answers) // until the server has closed it
				}
				sender.Close()
				<-sent
			})
		})
	}
}

// TestHalfSentBodies: bodies that are sent by half keep the room that all share for 2 s, not for the
// time of a whole body [W7].
func TestHalfSentBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dial, stop := listen(httpfunc.OnlyPOST(http.HandlerFunc(read)))
		defer stop()
		const length = 300 << 10
		for range 85 {
			sender := dial()
			go func() {
				_, _ = io.WriteString(sender, head(http.MethodPost, length)+strings.Repeat("x", length/2))
				_, _ = io.Copy(io.Discard, sender)
			}()
		}
		send := func() int {
			sender := dial()
			defer sender.Close()
			go func() { _, _ = io.WriteString(sender, head(http.MethodPost, length)+strings.Repeat("x", length)) }()
			answers := bufio.NewReader(sender)
			response, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if response.Close {
				_, _ = io.Copy(io.Discard, answers)
			}
			return response.StatusCode
		}
		synctest.Wait()
		if status := send(); status != http.StatusServiceUnavailable {
			t.Errorf("while they hold the room: %d", status)
		}
		time.Sleep(2 * time.Second)
		if status := send(); status != http.StatusOK {
			t.Errorf("after 2 s: %d", status)
		}
	})
}
