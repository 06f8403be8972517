package effects_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A hanging body is so many bytes, and then does not go on until it is told to.
type hanging struct {
	left       int
	hangs, end chan struct{}
}

func (b *hanging) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.hangs <- struct{}{}
		<-b.end
		return 0, io.EOF
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

// TestPushesAtOnce: the bodies of all pushes that are being read have a bound together. Beyond it a push
// is to come again, and is not called malformed [W7].
func TestPushesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const pushes, size = 20, 900 << 10
	hangs, end, ended := make(chan struct{}), make(chan struct{}), make(chan int)
	var read int
	var answers []int
	for range pushes {
		body := &hanging{left: size, hangs: hangs, end: end}
		go func() {
			answer := httptest.NewRecorder()
			w.function.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", body))
			ended <- answer.Code
		}()
		select {
		case <-hangs:
			read++
		case status := <-ended:
			answers = append(answers, status)
		}
	}
	if read == 0 || read*size > 16<<20 || len(answers) == 0 {
		t.Errorf("%d of %d bodies were read at a time", read, pushes)
	}
	for _, status := range answers {
		if status != http.StatusServiceUnavailable {
			t.Errorf("answered %d, want 503", status)
		}
	}
	if n := strings.Count(w.log.String(), `"outcome":"error"`); n != len(answers) {
		t.Errorf("%d are in the log: %s", n, w.log)
	}
	close(end)
	for range read {
		if status := <-ended; status != http.StatusBadRequest {
			t.Errorf("a body that came to its end: %d, want 400", status)
		}
	}
	var last map[string]any
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last["outcome"] != "malformed" {
		t.Errorf("logged %v, %v", last, err)
	}
}
