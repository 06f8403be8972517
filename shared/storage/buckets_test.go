package storage

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
)

// TestBucketsConnectOnce: one client is made, and a check that runs out of time says nothing.
func TestBucketsConnectOnce(t *testing.T) {
	t.Parallel()
	b := NewBuckets("127.0.0.1:1")
	first, err := b.service.Get(t.Context(), b.dial)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := b.service.Get(t.Context(), b.dial); err != nil || second != first {
		t.Errorf("another client was made (%v)", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Check(over, "results"); err != nil {
		t.Error(err)
	}
}

// TestAnswerInWords: an answer of Cloud Storage that is no JSON is quoted as it is, and an error without
// one keeps its cause.
func TestAnswerInWords(t *testing.T) {
	t.Parallel()
	_, sent := watchSent(t.Context())
	err := sent.failed("writing gs://a/b", &googleapi.Error{Code: http.StatusBadGateway, Body: "an upstream is away"})
	answer, ok := errors.AsType[*AnswerError](err)
	if !ok || !answer.Temporary() ||
		answer.Error() != `writing gs://a/b: Cloud Storage answered 502: "an upstream is away"` {
		t.Error(err)
	}
	if err := sent.failed("reading gs://a/b", context.Canceled); !errors.Is(err, context.Canceled) ||
		!strings.HasPrefix(err.Error(), "reading gs://a/b: ") {
		t.Error(err)
	}
}
