package canary

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"

	"github.com/opledger/opledger/scripts/opledger/canary/googlesim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// A world is a canary whose messages reach nothing, on a clock that moves when it waits.
type world struct {
	*testing.T
	*Canary
	google *googlesim.Sim
	// refuse, if not nil, answers Google's requests instead.
	refuse http.HandlerFunc

	mu  sync.Mutex
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
	w.google = googlesim.New("p", w.clock)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.refuse != nil {
			w.refuse(rw, r)
			return
		}
		w.google.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(w.google.Wait)
	google, err := NewGoogle(t.Context(), Emulators{Logging: server.URL, Scheduler: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), w.clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	settings := ledger.DefaultSettings()
	settings.Rules = []ledger.Rule{{Name: "note", On: []operation.State{operation.Succeeded}}}
	l, err := ledger.New(store, settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Canary = New(Options{
		Place: Place{Project: "p", Region: "r", Prefix: "x"}, Ledger: l, Topic: &harness.Outbox{}, Subscriptions: w,
		Google: google, Effect: "note", Now: w.clock,
		Wait: func(ctx context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.now = w.now.Add(d)
			return ctx.Err()
		},
	})
	return w
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// GetSubscription returns one that is as it should be.
func (w *world) GetSubscription(context.Context, *pubsubpb.GetSubscriptionRequest, ...gax.CallOption) (
	*pubsubpb.Subscription, error,
) {
	return &pubsubpb.Subscription{PushConfig: &pubsubpb.PushConfig{
		PushEndpoint: "https://x/y",
		AuthenticationMethod: &pubsubpb.PushConfig_OidcToken_{OidcToken: &pubsubpb.PushConfig_OidcToken{
			Audience: "https://x",
		}},
	}}, nil
}

// fails makes a step, which must fail.
func (w *world) fails(do func(context.Context, *Step) error) Step {
	w.Helper()
	made := w.make(w.Context(), step{"step", do})
	if made.Error == "" || made.LookAt == "" {
		w.Errorf("it did not fail, or says nothing to look at: %+v", made)
	}
	return made
}

// unseenSays checks the end of what is said about a service that did not log in time.
func (w *world) unseenSays(words string) {
	w.Helper()
	since := w.clock().Add(-time.Minute)
	if err := w.unseen(w.Context(), "x-effects", since, "nothing"); !strings.HasSuffix(err.Error(), words) {
		w.Errorf("%v, want %q", err, words)
	}
}
