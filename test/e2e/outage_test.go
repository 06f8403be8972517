package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// An outage is a receiver that refuses everything for a while: its front says 503, and while it is deployed 404.
type outage struct {
	lasts time.Duration // from the first request on
	// times is how often at least some key is refused: more often than an effect may fail.
	times int

	mu       sync.Mutex
	until    time.Time
	over     bool
	refused  map[string]int // by idempotency key
	accepted map[string]int
}

func (o *outage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	key, now := r.Header.Get("Idempotency-Key"), time.Now()
	if o.until.IsZero() {
		o.until = now.Add(o.lasts)
	}
	if o.over = o.over || now.After(o.until) && o.most() > o.times; o.over {
		o.accepted[key]++
		return
	}
	o.refused[key]++
	w.WriteHeader([]int{http.StatusServiceUnavailable, http.StatusNotFound}[o.refused[key]%2])
}

// most returns how often the key was refused that was refused most often.
func (o *outage) most() (most int) {
	for _, n := range o.refused {
		most = max(most, n)
	}
	return most
}

// audit returns what was refused and what was accepted.
func (o *outage) audit() (refused, accepted int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.refused), len(o.accepted)
}

// TestReceiverDown: a receiver that refuses everything for a while, with 503 and 404, under a lease of
// one second, makes `serve` give up no effect and no item, although attempts fail more
// often than OPLEDGER_MAX_ATTEMPTS. When it is back it gets everything [S2, S4, S10, R5].
func TestReceiverDown(t *testing.T) {
	t.Parallel()
	const items = 60
	f := newFleet(t, inFile(t), 1, geminisim.Config{Speed: 1000})
	defaults := ledger.DefaultSettings()
	// The back-offs up to the fifth failure take less than a second, those up to the tenth some 20 s.
	maxAttempts := harness.Soak(t, 5, defaults.MaxAttempts, defaults.MaxAttempts)
	down := &outage{
		lasts: harness.Soak(t, 3*time.Second, 40*time.Second, 5*time.Minute), times: maxAttempts,
		refused: map[string]int{}, accepted: map[string]int{},
	}
	sink := httptest.NewServer(down)
	t.Cleanup(sink.Close)
	f.settings = []string{
		"OPLEDGER_CLAIM_TTL=1s", fmt.Sprintf("OPLEDGER_MAX_ATTEMPTS=%d", maxAttempts),
		fmt.Sprintf(`OPLEDGER_EFFECTS=[
			{name: whole, on: [SUCCEEDED], do: http, url: %q},
			{name: each, on: [SUCCEEDED], do: http, url: %[1]q, each: item}]`, sink.URL),
	}
	f.start()
	p := f.instances[0].process()
	<-p.ready
	f.sim.Script("items", geminisim.Script{Items: items})
	name, err := f.submit("items")
	if err != nil {
		t.Fatal(err)
	}
	call{
		what: "registering", path: "/register", status: 201,
		body: fmt.Sprintf(`{"name":%q,"jobKind":"items"}`, name),
	}.make(t, p.url())

	l, err := ledger.New(f.backend.store(), defaults, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var rec operation.Record
	f.within(down.lasts+5*time.Minute, "both effects are done", func() bool {
		if rec, err = l.Operations.Read(t.Context(), operation.Key(name)); err != nil {
			t.Fatal(err)
		}
		for effect, status := range rec.Effects {
			if status == operation.EffectDead {
				t.Fatalf("%s is dead:\n%s", effect, p.tail())
			}
		}
		return rec.Effects["whole"] == operation.EffectDone && rec.Effects["each"] == operation.EffectDone
	})
	if got, want := rec.Progress["each"], (operation.Progress{Done: items, Total: items}); got != want {
		t.Errorf("items: %+v, want %+v", got, want)
	}
	refused, accepted := down.audit()
	if refused < 2 || accepted != items+1 {
		t.Errorf("%d keys were refused, %d accepted, want %d", refused, accepted, items+1)
	}
	for _, line := range p.lines() {
		if line.Outcome == "dead" || line.Event == "alert" {
			t.Errorf("logged %+v", line)
		}
	}
}
