package infra_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/trust"
)

// strangers post everything that can be posted without any knowledge of Gemini's secrets.
func strangers(w *world, function http.Handler) {
	w.Helper()
	for i := range 100 {
		id := fmt.Sprint("m", i)
		w.post(function, http.Header{}, "{}")
		w.post(function, w.signed(other, id, w.clock.Now(), "{}"), "{}")
		w.post(function, delivery(id, w.clock.Now(), "v1,AAAA"), "{}")
		w.post(function, delivery(id, w.clock.Now(), "a.b.c"), "{}")
		large := strings.Repeat("a", 1<<20+1)
		w.post(function, w.signed(other, id, w.clock.Now(), large), large)
		w.request(http.MethodGet, function, http.Header{}, http.NoBody)
	}
}

// alerting returns the signals whose alerts fire on these lines in one window, without those on
// absence.
func alerting(t *testing.T, signals []signal, printed lines) (names []string) {
	t.Helper()
	counted := map[string]int{}
	for function, all := range printed {
		for _, line := range all {
			for _, s := range signals {
				if slices.Contains(s.Functions, function) && s.counts(t, line) {
					counted[s.Name]++
				}
			}
		}
	}
	for _, s := range signals {
		if s.fires(counted) {
			names = append(names, s.Name)
		}
	}
	return names
}

// TestStrangersFireNoAlert: no request of a stranger fires an alert: not before the webhook is
// created, and not while passes find unannounced ends and genuine deliveries are accepted. If
// nothing genuine passes, one alert fires, for that reason.
func TestStrangersFireNoAlert(t *testing.T) {
	t.Parallel()
	signals := readTable[[]signal](t, "signals.json")
	noSecret := func(o *trust.Options) { o.Static = nil }
	bare := func(o *trust.Options) { o.Static, o.Dynamic = nil, nil }
	// missed has a pass find an end that a webhook in this state at Gemini did not tell.
	missed := func(w *world, name, state string) {
		w.registered(w.batch(name, geminisim.StateSucceeded))
		w.pass(w.endpoint(state))
	}
	for _, c := range []struct {
		about   string
		provoke func(w *world)
		want    []string
	}{
		{"strangers alone", func(w *world) { strangers(w, w.webhook(nil)) }, nil},
		{"before the webhook is created", func(w *world) {
			strangers(w, w.webhook(bare))
			w.registered(w.batch("a", geminisim.StateSucceeded))
			w.pass(nil)
		}, nil},
		{"while genuine deliveries are taken, and one was lost", func(w *world) {
			missed(w, "a", webhooks.Enabled)
			strangers(w, w.webhook(nil))
			w.registered(w.named("batches/b"))
			w.delivered("genuine", w.event("batch.running", "batches/b"))
		}, nil},
		{"a delivery was lost, and nothing else comes", func(w *world) { missed(w, "a", webhooks.Enabled) }, nil},
		{"the stored secret is another one", func(w *world) {
			missed(w, "a", webhooks.Enabled)
			for i := range 3 { // as often as Gemini tries within the hour
				w.post(w.webhook(nil), w.signed(other, fmt.Sprint("g", i), w.clock.Now(), "{}"), "{}")
			}
		}, []string{"refused"}},
		{"the secret's last version is disabled", func(w *world) {
			missed(w, "a", webhooks.Enabled)
			w.post(w.webhook(noSecret), w.signed(secret, "g", w.clock.Now(), "{}"), "{}")
		}, []string{"no-secret"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c.provoke(w)
			if got := alerting(t, signals, w.printed()); !slices.Equal(got, c.want) {
				t.Errorf("alerts of %q, want %q", got, c.want)
			}
		})
	}
}
