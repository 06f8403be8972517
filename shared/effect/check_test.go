package effect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/ledger"
)

// TestUnperformable: what can be known before any attempt is said, without the rest of the URL, and what
// may succeed is not called impossible. Not parallel, because it sets a variable.
func TestUnperformable(t *testing.T) {
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/hunter2.json")
	missing := LateSigner(func(context.Context) (*Signer, error) { return nil, errors.New("the secret is not there") })
	there, err := NewSigner(older)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec Spec
		o    HandlerOptions
		says []string // none: it may be performed
	}{
		{Spec{Do: &DoLog{}}, HandlerOptions{}, nil},
		{Spec{Do: &DoCustom{}}, HandlerOptions{}, nil},
		{Spec{Do: &DoResults{Collection: "reviews"}}, HandlerOptions{}, nil},
		{Spec{Do: &DoHTTP{URL: "https://8.8.8.8/x"}}, HandlerOptions{}, nil},
		{Spec{Do: &DoHTTP{URL: "https://[2606:4700::1111]:8443/x"}}, HandlerOptions{Signer: there}, nil},
		{Spec{Do: &DoHTTP{URL: "http://me:hunter2@127.0.0.1:9/hunter2?t=hunter2"}}, HandlerOptions{},
			[]string{"http://127.0.0.1:9 is at 127.0.0.1: ", ErrPrivateAddress.Error()}},
		{Spec{Do: &DoHTTP{URL: "http://localhost/x"}}, HandlerOptions{}, []string{"http://localhost is at ", "private"}},
		{Spec{Do: &DoHTTP{URL: "http://[::ffff:10.0.0.1]/x"}}, HandlerOptions{}, []string{"is at 10.0.0.1"}},
		{Spec{Do: &DoHTTP{URL: "http://169.254.169.254/x"}}, HandlerOptions{}, []string{"private"}},
		{Spec{Do: &DoHTTP{URL: "http://localhost/x"}}, HandlerOptions{AllowPrivate: true}, nil},
		{Spec{Do: &DoHTTP{URL: "https://no..host/x"}}, HandlerOptions{AllowPrivate: true}, []string{"no..host is not found"}},
		{Spec{Do: &DoHTTP{URL: "https://8.8.8.8/x"}}, HandlerOptions{Signer: missing}, []string{"the secret is not there"}},
		{Spec{Do: &DoHTTP{URL: "https://10.0.0.1/x"}}, HandlerOptions{Signer: missing}, []string{"the secret is not there", "private"}},
		{Spec{Do: &DoPubSub{Topic: "projects/p/topics/ends"}}, HandlerOptions{Topics: NewTopics("p")}, []string{"making a Pub/Sub client: "}},
		{Spec{Do: &DoResults{Bucket: "gs://results"}}, HandlerOptions{Buckets: NewBuckets("")}, []string{"making a Cloud Storage client: "}},
		{Spec{Do: &DoResults{Bucket: "gs://results"}}, HandlerOptions{Buckets: NewBuckets("127.0.0.1:1")}, nil},
	} {
		c.o.Now = time.Now
		err := c.spec.Unperformable(t.Context(), c.o)
		_, isHTTP := c.spec.Do.(*DoHTTP)
		if (err == nil) != (c.says == nil) || err != nil && isHTTP && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, want %q", c.spec.Do, err, c.says)
		}
		for _, words := range c.says {
			if err != nil && !strings.Contains(err.Error(), words) {
				t.Errorf("%+v: %v does not say %q", c.spec.Do, err, words)
			}
		}
	}
}

// TestLateSigner: until its secret is there nothing is sent, and the secret is not asked for at every
// attempt; then everything is signed, and it is not asked for again.
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
	now := time.Now() // which the receiver takes for the time, too
	handler := HTTP(HTTPOptions{
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
		_, err := handler.Perform(t.Context(), Task{Lease: ledger.Lease{IdempotencyKey: "k", Payload: []byte("{}")}})
		if !errors.Is(err, want) || IsPermanent(err) || asked != wantAsked || received != wantReceived {
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

// TestLateSignerWithoutTime: a caller that had no time leaves no error to the next.
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
