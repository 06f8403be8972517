package effect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

var noon = time.Date(2026, 1, 22, 12, 0, 0, 0, time.UTC)

// receive answers every request with handler and returns options that reach it.
func receive(t *testing.T, handler http.HandlerFunc) effect.HTTPOptions {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return effect.HTTPOptions{URL: server.URL + "/hook", AllowPrivate: true, Now: func() time.Time { return noon }}
}

func perform(t *testing.T, o effect.HTTPOptions) error {
	t.Helper()
	_, err := effect.HTTP(o).Perform(t.Context(), effect.Task{Lease: ledger.Lease{
		Operation: key, Effect: name, IdempotencyKey: "gemini:batches/a#publish", Attempt: 3, Payload: []byte(`{"operation":"batches/a"}`),
	}})
	return err
}

// planned returns a ledger in a file, with one effect to run, and what makes time pass for it.
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
	if _, err := l.Register(t.Context(), ledger.Registration{Name: n, JobKind: "review", Metadata: `{"who":"<me>"}`}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Ingest(t.Context(), operation.Event{
		Name: n, DeliveryID: "m1", Source: operation.Webhook, State: operation.Succeeded, Result: operation.Result{OutputFile: "files/batch-a"},
	}); err != nil {
		t.Fatal(err)
	}
	return l, func(d time.Duration) { offset.Add(int64(d)) }
}

// TestHTTPAttempts: through the ledger and over a real connection, every attempt sends the same bytes and the same key, and
// says which attempt it is. That is all the target is ever sent: nobody asks it whether the effect already happened, and once
// the ledger says DONE it hears nothing more [S8, K4].
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
			r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), r.Header.Get("Opledger-Attempt"), string(body),
		})
		if len(got) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	l, pass := planned(t)
	runner := effect.NewRunner(l, map[string]effect.Handler{name: effect.HTTP(o)})
	for attempt, want := range []effect.Outcome{effect.Failed, effect.Failed, effect.Finished, effect.Skipped} {
		report, err := runner.Run(t.Context(), message)
		if err != nil || report.Outcome != want {
			t.Fatalf("attempt %d: %+v %v, want %s", attempt+1, report, err, want)
		}
		pass(report.RetryAfter)
	}
	const body = `{"operation":"batches/a","state":"SUCCEEDED","jobKind":"review","result":{"outputFile":"files/batch-a"},` +
		`"metadata":{"who":"\u003cme\u003e"},"idempotencyKey":"gemini:batches/a#publish"}`
	var want []request
	for attempt := range 3 {
		want = append(want, request{"POST", "/hook", "application/json", "gemini:batches/a#publish", fmt.Sprint(attempt + 1), body})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests, -want +got\n%s", diff)
	}
}

// TestHTTPStatuses: only 2xx is done. What is about the request itself is a no for good, and so is what the spec adds;
// everything else may be a deploy of the receiver and is tried again. Nothing is followed [S4].
func TestHTTPStatuses(t *testing.T) {
	t.Parallel()
	var status, asked atomic.Int64
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/hook" {
			t.Errorf("followed to %s", r.URL)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(status.Load()))
		if status.Load() != 204 && status.Load() != 304 {
			_, _ = io.WriteString(w, "because I say so")
		}
	})
	never := []int{400, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501}
	for _, also := range [][]int{nil, {404, 503}} {
		o.Permanent = also
		for code := 200; code <= 599; code++ {
			status.Store(int64(code))
			before := asked.Load()
			err := perform(t, o)
			done := code < 300
			permanent := code >= 300 && code < 400 || slices.Contains(never, code) || slices.Contains(also, code)
			if (err == nil) != done || effect.IsPermanent(err) != permanent {
				t.Errorf("%d beside %v: %v, want done %t, permanent %t", code, also, err, done, permanent)
			}
			if err != nil && (!strings.Contains(err.Error(), fmt.Sprint(code)) || code != 304 && !strings.Contains(err.Error(), "because I say so")) {
				t.Errorf("%d: %v does not tell what was answered", code, err)
			}
			if n := asked.Load() - before; n != 1 {
				t.Errorf("%d: asked %d times", code, n)
			}
		}
	}
}

// TestHTTPDeploy: a receiver's deploy that answers 401, 403 and 404 for a while costs an effect attempts and not its life,
// unless its entry says that one of them is permanent [S4].
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
		specs, err := effect.ParseSpecs([]byte(text), operation.Transitions{})
		if err != nil {
			t.Fatal(err)
		}
		handlers, err := effect.Handlers(specs, effect.HandlerOptions{AllowPrivate: true})
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

// TestHTTPSaysNothingOfNothing: of an empty answer the status is all there is to tell.
func TestHTTPSaysNothingOfNothing(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	defer receiver.Close()
	err := perform(t, effect.HTTPOptions{URL: receiver.URL, AllowPrivate: true})
	if want := receiver.URL + " answered 503 Service Unavailable"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestHTTPRetryAfter: a receiver may say when, in seconds or as a date, within reason; through the runner, which is who acts
// on it.
func TestHTTPRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "3600": time.Hour, "3601": time.Hour, "999999999999": time.Hour,
		noon.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		noon.Add(48 * time.Hour).Format(http.TimeFormat):   time.Hour,
		noon.Add(-time.Hour).Format(http.TimeFormat):       0,
		"0": 0, "-5": 0, "soon": 0, "": 0,
	} {
		t.Run(header, func(t *testing.T) {
			t.Parallel()
			o := receive(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", header)
				w.WriteHeader(http.StatusTooManyRequests)
			})
			err := perform(t, o)
			inner, ok := effect.AskedToWait(err)
			if !ok || inner != want {
				t.Errorf("%v after %v, want %v", err, inner, want)
			}
		})
	}
}

// TestHTTPNoClock: a date needs a clock, and where none was given there is one.
func TestHTTPNoClock(t *testing.T) {
	t.Parallel()
	o := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", time.Now().Add(24*time.Hour).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	o.Now = nil
	if d, _ := effect.AskedToWait(perform(t, o)); d != time.Hour {
		t.Errorf("wait %v, want the longest there is", d)
	}
}

// TestHTTPTimeout: a receiver that does not answer fails the attempt, which can be repeated; so does the end of the context.
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
	if _, err := effect.HTTP(o).Perform(ctx, effect.Task{}); !errors.Is(err, context.Canceled) || effect.IsPermanent(err) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestHTTPLongHeaders: an answer may have headers, and not megabytes of them. It may have been a success: it is tried again.
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

// TestHTTPUnreachable: a receiver that is not there may be there later.
func TestHTTPUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if err := perform(t, effect.HTTPOptions{URL: server.URL, AllowPrivate: true}); err == nil || effect.IsPermanent(err) {
		t.Errorf("%v, want an error that passes", err)
	}
}

// TestHTTPPrivate: what only the function can reach is not reached, however it is spelled; and that is final.
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
		"10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd20:ce::254]", "100.64.0.1", "[::ffff:10.0.0.1]",
	} {
		u.Host = host + ":" + u.Port()
		o.URL = u.String()
		if err := perform(t, o); !effect.IsPermanent(err) || !errors.Is(err, effect.ErrPrivateAddress) {
			t.Errorf("%s: %v, want a permanent error", host, err)
		}
	}
}

// TestHTTPSecretInURL: what stands in the URL to authenticate is not in errors, which end in documents and logs.
func TestHTTPSecretInURL(t *testing.T) {
	t.Parallel()
	o := receive(t, func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "hunter2" {
			t.Errorf("password %q", password)
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	o.URL = strings.Replace(o.URL, "http://", "http://user:hunter2@", 1)
	if err := perform(t, o); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}
