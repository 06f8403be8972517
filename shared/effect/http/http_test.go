package http_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/opledger/opledger/shared/effect"
	effecthttp "github.com/opledger/opledger/shared/effect/http"
	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

const key operation.Key = "batches/a"

const name = "publish"

// message is the message about the effect of planned.
var message = ledger.Message{Operation: key, Effect: name, Attempt: 1}

var noon = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)

// receive answers every request with handler and returns options that reach it.
func receive(t *testing.T, handler http.HandlerFunc) effecthttp.Options {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return effecthttp.Options{URL: server.URL + "/hook", AllowPrivate: true, Now: func() time.Time { return noon }}
}

func perform(t *testing.T, o effecthttp.Options) error {
	t.Helper()
	_, err := effecthttp.New(o).Perform(t.Context(), effect.Task{Lease: ledger.Lease{
		Operation: key, Effect: name, IdempotencyKey: "gemini:batches/a#publish", Attempt: 3,
		Payload: []byte(`{"operation":"batches/a"}`),
	}})
	return err
}

// planned returns a ledger in a file, with one effect to run, and what advances its clock.
func planned(t *testing.T) (*ledger.Ledger, func(time.Duration)) {
	t.Helper()
	var offset atomic.Int64 // a clock that the test moves
	now := func() time.Time { return noon.Add(time.Duration(offset.Load())) }
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: name, On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := operation.Name{Key: key, Resource: string(key)}
	if _, err := l.Operations.Register(t.Context(), ledger.Registration{
		Name: n, Submission: operation.Submission{JobKind: "review", Metadata: `{"who":"<me>"}`},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operations.Ingest(t.Context(), operation.Event{
		Name: n, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded,
		Result: operation.Result{OutputFile: "files/batch-a"},
	}); err != nil {
		t.Fatal(err)
	}
	return l, func(d time.Duration) { offset.Add(int64(d)) }
}

// TestHTTPAttempts: through the ledger and over a real connection, every attempt sends the same
// bytes, the same key and its own number. The target gets nothing else: it is never queried, and
// after DONE it gets nothing more [S8, K4].
func TestHTTPAttempts(t *testing.T) {
	t.Parallel()
	type request struct{ Method, Path, ContentType, Key, Attempt, Body string }
	var mu sync.Mutex
	var got []request
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, request{
			r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"),
			r.Header.Get("Opledger-Attempt"), string(body),
		})
		if len(got) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	l, pass := planned(t)
	runner := effect.NewRunner(l, map[string]effect.Handler{name: effecthttp.New(o)})
	for attempt, want := range []effect.Outcome{effect.Failed, effect.Failed, effect.Finished, effect.Skipped} {
		report, err := runner.Run(t.Context(), message)
		if err != nil || report.Outcome != want {
			t.Fatalf("attempt %d: %+v %v, want %s", attempt+1, report, err, want)
		}
		pass(report.RetryAfter)
	}
	const body = `{"operation":"batches/a","state":"SUCCEEDED","jobKind":"review",` +
		`"result":{"outputFile":"files/batch-a","inline":false,"errorCode":null,"errorMessage":null,"counts":null},` +
		`"metadata":{"who":"\u003cme\u003e"},"idempotencyKey":"gemini:batches/a#publish"}`
	var want []request
	for attempt := range 3 {
		want = append(want, request{"POST", "/hook", "application/json", "gemini:batches/a#publish", fmt.Sprint(attempt + 1),
			body})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests, -want +got\n%s", diff)
	}
}

// TestHTTPTrace: each attempt continues the trace of the submission, with a span of its own.
func TestHTTPTrace(t *testing.T) {
	t.Parallel()
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-"
	var got []string
	o := receive(t, func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Traceparent")) })
	handler := effecthttp.New(o)
	for fence, given := range []operation.TraceParent{
		"", trace + "00f067aa0ba902b7-01", trace + "00f067aa0ba902b7-01", "malformed",
	} {
		task := effect.Task{Lease: ledger.Lease{IdempotencyKey: "key", Fence: int64(fence), Trace: given}}
		if _, err := handler.Perform(t.Context(), task); err != nil {
			t.Fatal(err)
		}
	}
	if got[0] != "" || got[3] != "" || got[1] == got[2] || !strings.HasPrefix(got[1], trace) ||
		!strings.HasPrefix(got[2], trace) || !strings.HasSuffix(got[1], "-01") {
		t.Errorf("%q", got)
	}
}

// TestHTTPDeploy: a receiver's deployment that answers 401, 403 and 404 for a while costs attempts,
// but the effect does not die, unless its entry lists one of them as permanent [S4].
func TestHTTPDeploy(t *testing.T) {
	t.Parallel()
	for permanent, want := range map[string][]effect.Outcome{
		"":                   {effect.Failed, effect.Failed, effect.Failed, effect.Finished},
		", permanent: [404]": {effect.Failed, effect.Failed, effect.Died},
	} {
		answers := []int{401, 403, 404, 200}
		o := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answers[0])
			answers = answers[1:]
		})
		text := fmt.Sprintf("[{name: publish, on: [SUCCEEDED], do: http, url: %q%s}]", o.URL, permanent)
		specs, err := kinds.ParseSpecs([]byte(text), operation.Transitions{})
		if err != nil {
			t.Fatal(err)
		}
		handlers, err := kinds.Handlers(specs, kinds.Options{AllowPrivate: true})
		if err != nil {
			t.Fatal(err)
		}
		l, pass := planned(t)
		runner := effect.NewRunner(l, handlers)
		for attempt, outcome := range want {
			report, err := runner.Run(t.Context(), message)
			if err != nil || report.Outcome != outcome {
				t.Fatalf("attempt %d%s: %+v %v, want %s", attempt+1, permanent, report, err, outcome)
			}
			pass(report.RetryAfter)
		}
	}
}

// TestHTTPNoClock: without a clock in the options a date is compared with the real time.
func TestHTTPNoClock(t *testing.T) {
	t.Parallel()
	o := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(24*time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	o.Now = nil
	if d := effect.RetryDelay(perform(t, o)); d != time.Hour {
		t.Errorf("wait %v, want the longest there is", d)
	}
}

// TestHTTPTimeout: a receiver that does not answer fails the attempt, which is retried. So does the
// end of the context.
func TestHTTPTimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	o := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	o.Timeout = 20 * time.Millisecond
	if err := perform(t, o); err == nil || effect.IsPermanent(err) {
		t.Errorf("no answer: %v, want an error that passes", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := effecthttp.New(o).Perform(ctx, effect.Task{})
	if !errors.Is(err, context.Canceled) || effect.IsPermanent(err) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestHTTPLongHeaders: headers of megabytes fail the attempt. It may have been a success, so it is
// retried.
func TestHTTPLongHeaders(t *testing.T) {
	t.Parallel()
	var size atomic.Int64
	o := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		for part := range size.Load() {
			w.Header().Set(fmt.Sprintf("X-Long-%d", part), strings.Repeat("x", 1<<10))
		}
	})
	for kilobytes, fails := range map[int64]bool{32: false, 80: true, 9 << 10: true} {
		size.Store(kilobytes)
		if err := perform(t, o); (err != nil) != fails || effect.IsPermanent(err) {
			t.Errorf("%d KiB: %v, want an error %t that passes", kilobytes, err, fails)
		}
	}
}

// TestHTTPUnreachable: a receiver that cannot be reached is retried.
func TestHTTPUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if err := perform(t, effecthttp.Options{URL: server.URL, AllowPrivate: true}); err == nil || effect.IsPermanent(err) {
		t.Errorf("%v, want an error that passes", err)
	}
}

// TestHTTPPrivate: private addresses are not reached, in no spelling, and the error is permanent.
func TestHTTPPrivate(t *testing.T) {
	t.Parallel()
	o := receive(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("reached as %s", r.Host) })
	u, err := url.Parse(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.AllowPrivate = false
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]",
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd20:ce::254]", "100.64.0.1",
		"[::ffff:10.0.0.1]",
	} {
		u.Host = host + ":" + u.Port()
		o.URL = u.String()
		if err := perform(t, o); !effect.IsPermanent(err) || !errors.Is(err, effecthttp.ErrPrivateAddress) {
			t.Errorf("%s: %v, want a permanent error", host, err)
		}
	}
}

const signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// TestHTTPSigned: over a real connection, a receiver verifies every attempt with the official
// library. The id is the same on every attempt; the time is the attempt's own.
func TestHTTPSigned(t *testing.T) {
	t.Parallel()
	receiver, err := standardwebhooks.NewWebhook(signingSecret)
	if err != nil {
		t.Fatal(err)
	}
	var ids, times []string
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if err := receiver.Verify(body, r.Header); err != nil {
			t.Errorf("it comes from a stranger: %v", err)
		}
		ids, times = append(ids, r.Header.Get("webhook-id")), append(times, r.Header.Get("webhook-timestamp"))
	})
	if o.Signer, err = effecthttp.NewSigner(signingSecret); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	o.Now = func() time.Time { return at }
	for range 2 {
		if err := perform(t, o); err != nil {
			t.Fatal(err)
		}
		at = at.Add(time.Minute)
	}
	if len(ids) != 2 || ids[0] == "" || ids[0] != ids[1] || times[0] == times[1] {
		t.Errorf("ids %q, times %q", ids, times)
	}
}

// TestHTTPUnsigned: without a secret no header looks like a signature.
func TestHTTPUnsigned(t *testing.T) {
	t.Parallel()
	o := receive(t, func(_ http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if strings.HasPrefix(name, "Webhook-") {
				t.Errorf("it has %s", name)
			}
		}
	})
	if err := perform(t, o); err != nil {
		t.Fatal(err)
	}
}
