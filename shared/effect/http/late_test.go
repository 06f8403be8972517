package http

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestLateSigner: until the secret can be loaded nothing is sent, and it is not loaded at every
// attempt. After that everything is signed, and it is not loaded again.
func TestLateSigner(t *testing.T) {
	t.Parallel()
	errMissing := errors.New("the secret is not there")
	receiver, err := standardwebhooks.NewWebhook(older)
	if err != nil {
		t.Fatal(err)
	}
	received := 0
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received++
		if body, err := io.ReadAll(r.Body); err != nil || receiver.Verify(body, r.Header) != nil {
			t.Errorf("unsigned: %v %v", r.Header, err)
		}
	}))
	defer sink.Close()
	asked, there := 0, false
	now := time.Now() // of the receiver, too
	handler := New(Options{
		URL: sink.URL, AllowPrivate: true, Now: func() time.Time { return now },
		Signer: LateSigner(func(context.Context) (*Signer, error) {
			asked++
			if !there {
				return nil, errMissing
			}
			return NewSigner(older)
		}),
	})
	attempt := func(want error, wantAsked, wantReceived int) {
		t.Helper()
		_, err := handler.Perform(t.Context(), effect.Task{Lease: ledger.Lease{IdempotencyKey: "k", Payload: []byte("{}")}})
		if !errors.Is(err, want) || effect.IsPermanent(err) || asked != wantAsked || received != wantReceived {
			t.Errorf("%v, asked %d times, received %d; want %v, %d, %d", err, asked, received, want, wantAsked, wantReceived)
		}
	}
	attempt(errMissing, 1, 0)
	there = true
	now = now.Add(lateGap - time.Nanosecond)
	attempt(errMissing, 1, 0)
	now = now.Add(time.Nanosecond)
	attempt(nil, 2, 1)
	now = now.Add(time.Minute)
	attempt(nil, 2, 2)
}

// TestLateSignerWithoutTime: a caller without time leaves no error to the next.
func TestLateSignerWithoutTime(t *testing.T) {
	t.Parallel()
	signer := LateSigner(func(ctx context.Context) (*Signer, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return NewSigner(older)
	})
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := signer.loaded(ended, time.Now()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if keys, err := signer.loaded(t.Context(), time.Now()); err != nil || len(keys) != 1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}
