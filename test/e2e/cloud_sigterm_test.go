package e2e

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/effect/kinds"
	"github.com/opledger/opledger/shared/effect/spec"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A slowTarget answers every request but the first, which it keeps until its sender gives up.
type slowTarget struct {
	entered chan struct{} // closed with the first request

	mu   sync.Mutex
	keys []string
}

func (s *slowTarget) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	first := len(s.keys) == 1
	s.mu.Unlock()
	if first {
		_, _ = http.MaxBytesReader(nil, r.Body, 1<<20).Read(make([]byte, 1<<20)) // only then is it seen that the sender left
		close(s.entered)
		<-r.Context().Done()
	}
}

// TestCloudSIGTERM: a deployed function that is told to stop in the middle of an effect gives the
// effect back, answers, and exits with 0. Another process does it at once, long before the lease
// would have run out, with the same key [S4].
func TestCloudSIGTERM(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	target := &slowTarget{entered: make(chan struct{})}
	receiver := httptest.NewServer(target)
	t.Cleanup(receiver.Close)
	text := "[{name: publish, on: [SUCCEEDED], do: http, timeout: 10m, url: \"" + receiver.URL + "\"}]"
	variables := append(c.variables(), "OPLEDGER_EFFECTS="+text, "OPLEDGER_EFFECT_ALLOW_PRIVATE=true")
	l := c.planned(t, text, "batches/a")

	stopping, other := serveFunction(t, "Effects", variables...), serveFunction(t, "Effects", variables...)
	c.push(other.url()+pushPath+c.topic(topicID), "")
	answered := make(chan string)
	go func() {
		_, answer, _, err := send(http.MethodPost, stopping.url()+"/"+c.topic(topicID),
			[]byte(push("batches/a", "publish")), http.Header{"Content-Type": {"application/json"}})
		if err != nil {
			t.Errorf("the push was not answered: %v", err)
		}
		answered <- string(answer)
	}()
	<-target.entered
	if err := stopping.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if answer := <-answered; !strings.Contains(answer, `"outcome":"continued"`) {
		t.Errorf("answered %s", answer)
	}
	wantExit0(t, stopping)
	var last logLine
	for _, line := range stopping.lines() {
		if line.Event == "effect" {
			last = line
		}
	}
	if last.Outcome != "continued" || last.Reason != "stopped" {
		t.Errorf("logged %+v", last)
	}

	var story ledger.Story
	eventually(t, "another process has done the effect", func() (done bool) {
		var err error
		story, err = l.Operations.Show(t.Context(), "batches/a")
		return err == nil && story.Effects[0].State == ledger.EffectDone
	})
	if e := story.Effects[0]; e.Attempts != 1 || e.Fence != 2 || e.Interrupted != 0 {
		t.Errorf("%+v", e)
	}
	target.mu.Lock()
	defer target.mu.Unlock()
	if keys := slices.Compact(slices.Clone(target.keys)); len(target.keys) != 2 || len(keys) != 1 {
		t.Errorf("sent with the keys %q", target.keys)
	}
}

// planned returns the ledger in the cloud, in which an operation has ended and its effects are
// planned. Nothing was published for them.
func (c *cloud) planned(t *testing.T, effects string, key operation.Key) *ledger.Ledger {
	t.Helper()
	specs, err := kinds.ParseSpecs([]byte(effects), operation.Transitions{})
	if err != nil {
		t.Fatal(err)
	}
	settings := ledger.DefaultSettings()
	settings.Rules = spec.Rules(specs)
	l, err := ledger.New(c.backend.store(), settings, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := operation.Name{Key: key, Resource: string(key)}
	if _, err := l.Operations.Register(t.Context(), ledger.Registration{Name: name}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Operations.Ingest(t.Context(), operation.Event{
		Name: name, DeliveryID: "m", Source: operation.Webhook, State: operation.Succeeded, UpdateTime: time.Now(),
	}); err != nil {
		t.Fatal(err)
	}
	return l
}
