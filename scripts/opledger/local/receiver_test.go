package local

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/ledger"
)

// TestReceiverCounts: the receiver tells a necessary repeat from a forbidden one, so that "doubled"
// has a meaning [S3, S6, K4].
func TestReceiverCounts(t *testing.T) {
	t.Parallel()
	type request struct {
		body       string
		answerLost bool // the answer to it
	}
	for _, c := range []struct {
		name     string
		requests []request
		times    int
		want     receiverStats
	}{
		{"once", []request{{"x", false}}, 1, receiverStats{}},
		{"twice without need", []request{{"x", false}, {"x", false}}, 2, receiverStats{doubled: 1}},
		{"three times without need", []request{{"x", false}, {"x", false}, {"x", false}}, 3, receiverStats{doubled: 2}},
		{"again after a lost answer", []request{{"x", true}, {"x", false}}, 1, receiverStats{answersLost: 1, excused: 1}},
		{"again and again after lost answers", []request{{"x", true}, {"x", true}, {"x", false}}, 1,
			receiverStats{answersLost: 2, excused: 2}},
		{"once too often after a lost answer", []request{{"x", true}, {"x", false}, {"x", false}}, 2,
			receiverStats{answersLost: 1, excused: 1, doubled: 1}},
		{"other bytes after a lost answer", []request{{"x", true}, {"y", false}}, 2,
			receiverStats{answersLost: 1, doubled: 1}},
	} {
		r := newReceiver(1, "none")
		for _, request := range c.requests {
			r.lose = map[bool]float64{true: 1}[request.answerLost]
			r.receive("key", request.body)
		}
		if got := r.counts(); got != c.want || r.times("key") != c.times || r.times("other") != 0 {
			t.Errorf("%s: %+v, accepted %d times, want %+v, %d times", c.name, got, r.times("key"), c.want, c.times)
		}
	}
}

// TestReceiverAnswers: its counts are what its client observes.
func TestReceiverAnswers(t *testing.T) {
	t.Parallel()
	r := newReceiver(1, "none")
	server := httptest.NewServer(r)
	defer server.Close()
	client := server.Client()
	post := func() (int, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Idempotency-Key", "key")
		response, err := client.Do(request)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	r.refuse = 1
	if status, err := post(); status != http.StatusServiceUnavailable || err != nil || r.times("key") != 0 {
		t.Errorf("refused: %d, %v, accepted %d times", status, err, r.times("key"))
	}
	r.refuse, r.lose = 0, 1
	if status, err := post(); err == nil || r.times("key") != 1 {
		t.Errorf("answer lost: %d, %v, accepted %d times", status, err, r.times("key"))
	}
	r.lose = 0
	if status, err := post(); status != http.StatusOK || err != nil || r.times("key") != 1 {
		t.Errorf("repeat: %d, %v, accepted %d times", status, err, r.times("key"))
	}
	if got, want := r.counts(), (receiverStats{refused: 1, answersLost: 1, excused: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

type publishing func(ledger.Message) error

func (p publishing) Publish(_ context.Context, m ledger.Message) error { return p(m) }
