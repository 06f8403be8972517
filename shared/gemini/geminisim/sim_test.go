package geminisim_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"google.golang.org/genai/interactions/models/operations"
	"google.golang.org/genai/interactions/models/webhooks"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// TestOverLoopback uses real connections. The SDK registers a webhook and submits under the normal
// fault plan. A receiver that verifies deliveries and fails every third attempt gets every
// completion that the plan does not lose.
func TestOverLoopback(t *testing.T) {
	t.Parallel()
	var secret atomic.Pointer[standardwebhooks.Webhook]
	var mu sync.Mutex
	attempts, bad := 0, []error(nil)
	rcv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = secret.Load().Verify(body, r.Header)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			bad = append(bad, err)
		}
		if attempts++; attempts%3 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(rcv.Close) // after the simulator: cleanups run backwards
	const n = 30
	// The seed is one whose windows, repeats and losses all come up.
	faults := geminisim.Normal()
	faults.APIErrors, faults.APIRateLimited, faults.APIHollow = 0, 0, 0 // the test reads its own answers
	sim, client, _ := serve(t, geminisim.Config{Seed: 11, Speed: 2000, Faults: faults})

	hook, err := client.Webhooks.Create(t.Context(), operations.CreateWebhookRequest{Body: webhooks.WebhookInput{
		URI: rcv.URL, SubscribedEvents: []webhooks.WebhookSubscribedEvent{"batch.succeeded", "batch.failed", "batch.expired"},
	}}, noRetries)
	if err != nil {
		t.Fatal(err)
	}
	wh, err := standardwebhooks.NewWebhook(*hook.Webhook.NewSigningSecret)
	if err != nil {
		t.Fatal(err)
	}
	secret.Store(wh)
	for range n {
		create(t, client, "")
	}
	wait(t, sim, over(n))

	st := sim.Stats()
	if len(bad) != 0 || st.Lost == 0 || st.Repeated == 0 || st.Retries == 0 || st.GaveUp != 0 {
		t.Errorf("%v %+v", bad, st)
	}
	lost := 0
	for _, b := range sim.Batches() {
		switch {
		case b.Completion == geminisim.CompletionLost:
			lost++
		case (b.Completion == geminisim.CompletionNone) != (b.State == geminisim.StateCancelled):
			t.Errorf("%+v", b)
		}
		// What no webhook tells, asking does.
		job, err := client.Batches.Get(t.Context(), b.Name, nil)
		for err == nil && string(job.State) == "JOB_STATE_RUNNING" { // stale
			job, err = client.Batches.Get(t.Context(), b.Name, nil)
		}
		if err != nil || "BATCH"+string(job.State)[len("JOB"):] != string(b.State) || job.EndTime.IsZero() {
			t.Errorf("%s ended %s, the API says %+v, %v", b.Name, b.State, job, err)
		}
	}
	if lost != st.Lost {
		t.Errorf("%d batches lost their completion, %d counted", lost, st.Lost)
	}
}

func TestNowIsWhatIsWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 22, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	rc := &receiver{}
	sim := geminisim.New(geminisim.Config{Now: func() time.Time { return at }, HTTP: rc.client()})
	defer sim.Close()
	register(t, sim)
	sim.Script("b", geminisim.Script{Hold: geminisim.StateRunning})
	submit(t, sim, "b")
	settle(t, sim, "b")
	wait(t, sim, over(1))
	d := rc.all()[0]
	// The clock stands still, the update times do not: they tell states apart.
	if got, want := d.Event.Timestamp, at.Add(time.Microsecond); !got.Equal(want) {
		t.Errorf("event at %v, want %v", got, want)
	}
	if got := d.Header.Get("webhook-timestamp"); got != "1769079600" {
		t.Errorf("webhook-timestamp %s", got)
	}
}
