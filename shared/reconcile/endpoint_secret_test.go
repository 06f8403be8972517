package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/reconcile"
	"github.com/opledger/opledger/shared/secret"
)

// TestWrongSecret: that Gemini signs with a secret which the webhook does not know is known within the first pass,
// before any delivery. It is an alert from the second on, so that a pass between the rotation at Gemini and the storing
// of the new secret raises none, in each pass, and ends with it. A secret that may not be read here changes
// nothing [W1].
func TestWrongSecret(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	at, id := w.endpoint(webhooks.Enabled)
	hook, err := at.Webhooks.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	wrong := &ledger.WrongSecret{Version: 1, Webhook: id, Shown: hook.Secrets[0].Truncated}
	fits := []string{"whsec_" + strings.TrimPrefix(hook.Secrets[0].Truncated, "whsec_...")}
	denied := fmt.Errorf("reading it: %w", secret.ErrDenied)
	var fitAt time.Time
	for i, c := range []struct {
		known    []string
		err      error
		want     *ledger.WrongSecret
		alerts   []string
		outcomes []string
		errors   int
	}{
		{known: fits},
		{[]string{"whsec_other"}, nil, wrong, nil, []string{"secret-unknown"}, 0},
		{known: fits}, // it was stored
		{[]string{"whsec_other"}, nil, wrong, nil, []string{"secret-unknown"}, 0},
		{[]string{"whsec_other"}, nil, wrong, []string{"webhooks/" + id + " wrong-secret"}, nil, 0},
		{nil, denied, wrong, nil, []string{"secret-unread"}, 0},
		{nil, errors.New("unavailable"), wrong, nil, []string{"error"}, 1},
		{nil, nil, wrong, []string{"webhooks/" + id + " wrong-secret"}, nil, 0}, // no version is enabled
		{known: append(fits, "whsec_other")},
	} {
		at.Secrets = func(context.Context) ([]string, error) { return c.known, c.err }
		w.clock.Advance(time.Second)
		got := w.lastPass(reconcile.Options{Endpoint: at})
		if found := got.WrongSecret; found != nil {
			found.Version = 1
		}
		var alerts, outcomes []string
		for _, line := range w.log.Drain(t) {
			if line["event"] == "alert" {
				alerts = append(alerts, fmt.Sprint(line["operation"], " ", line["reason"]))
			} else if outcome, ok := line["outcome"].(string); ok && outcome != "pass" {
				outcomes = append(outcomes, outcome)
			}
		}
		if slices.Contains(c.known, fits[0]) {
			fitAt = w.clock.Now()
		}
		if !got.SecretFitsAt.Equal(fitAt) {
			t.Errorf("W1: case %d: it was found to fit at %v, want %v", i, got.SecretFitsAt, fitAt)
		}
		if !cmp.Equal(got.WrongSecret, c.want) || got.Webhook != ledger.WebhookEnabled || got.Errors != c.errors ||
			!cmp.Equal(alerts, c.alerts) || !cmp.Equal(outcomes, c.outcomes) {
			t.Errorf("W1: case %d: %+v, %+v, logged %v and %v", i, got.WrongSecret, got, alerts, outcomes)
		}
	}
	sent := w.outbox.Drain() // once by the alert, and by the sweep after it
	if len(sent) == 0 {
		t.Error("W1: the alert plans no effect")
	}
	for _, m := range sent {
		if string(m.Operation) != "webhooks/"+id || m.Effect != "page@disabled-1" {
			t.Errorf("W1: another effect, %+v", m)
		}
	}
	// With the webhook disabled that alone is said.
	if err := w.sim.SetWebhookState(id, webhooks.Disabled); err != nil {
		t.Fatal(err)
	}
	at.Secrets = func(context.Context) ([]string, error) { return nil, nil }
	if got := w.lastPass(reconcile.Options{Endpoint: at}); got.WrongSecret != nil {
		t.Errorf("W1: %+v", got.WrongSecret)
	}
}

// TestSecretOfAnyWebhook: a pass that does not know which webhook delivers here compares its secrets with those of all
// ones that are enabled, or that Gemini disabled, by one request. Where none fits that is said, with the webhooks that
// were compared. One that fits delivers here, and it is said where that one is disabled; of the others it is not said,
// nor that they are gone: each may be another deployment's [W1].
func TestSecretOfAnyWebhook(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, setting{alerts: true})
	requests := 0
	w.inFront(func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "webhooks") {
			requests++
		}
		return false
	})
	at, _ := w.endpoint("")
	at.URL = ""
	other, fits := []string{"whsec_other"}, []string(nil)
	secrets := func(known []string) {
		at.Secrets = func(context.Context) ([]string, error) { return known, nil }
	}
	none := func() {}
	unlisted := func() {
		w.sim.AnswerNext(geminisim.OpWebhook, "", geminisim.ErrorAnswer(http.StatusNotFound, "no such page"))
	}
	var ids []string
	var fitting string          // the id of the one that fits
	var shown map[string]string // by id
	create := func(states ...string) func() {
		return func() {
			ids, shown = nil, map[string]string{}
			for i, state := range states {
				made, err := at.Webhooks.Create(t.Context(), "", fmt.Sprintf("https://webhook-%d.example/", i))
				if err != nil {
					t.Fatal(err)
				}
				if err := w.sim.SetWebhookState(made.ID, state); err != nil {
					t.Fatal(err)
				}
				ids, shown[made.ID] = append(ids, made.ID), made.Secrets[0].Truncated
				fits, fitting = []string{made.Secret}, made.ID
			}
			slices.Sort(ids)
		}
	}
	become := func(state string) func() {
		return func() {
			for _, id := range ids {
				if err := w.sim.SetWebhookState(id, state); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct {
		about            string
		happens          func()
		known            *[]string
		noWebhook, wrong bool
		health           ledger.WebhookHealth // of the one that fits
		says             string               // of the log
	}{
		{"none", none, &other, true, false, ledger.WebhookNone, ""},
		{"one that an operator disabled", create(webhooks.Disabled), &other, false, false, ledger.WebhookNone, ""},
		{"two more", create(webhooks.Enabled, webhooks.Enabled), &other, false, true, ledger.WebhookNone, "secret-unknown"},
		{"the same again", none, &other, false, true, ledger.WebhookNone, "wrong-secret"},
		{"no list", unlisted, &other, false, true, ledger.WebhookNone, "webhooks-unlisted"},
		{"Gemini has disabled them", become(webhooks.DisabledByFailures), &other, false, true, ledger.WebhookNone,
			"wrong-secret"},
		{"the right secret, while they are disabled", none, &fits, false, false, ledger.WebhookDisabled, "disabled"},
		{"the right secret", become(webhooks.Enabled), &fits, false, false, ledger.WebhookEnabled, ""},
		{"another's is enabled, and ours is not", func() {
			become(webhooks.Enabled)()
			if err := w.sim.SetWebhookState(fitting, webhooks.DisabledByFailures); err != nil {
				t.Fatal(err)
			}
		}, &fits, false, false, ledger.WebhookDisabled, "disabled"},
		{"ours is enabled, and another's is not", func() {
			become(webhooks.DisabledByFailures)()
			if err := w.sim.SetWebhookState(fitting, webhooks.Enabled); err != nil {
				t.Fatal(err)
			}
		}, &fits, false, false, ledger.WebhookEnabled, ""},
	} {
		c.happens()
		secrets(*c.known)
		w.clock.Advance(interval)
		before := requests
		got := w.lastPass(reconcile.Options{Endpoint: at})
		var want *ledger.WrongSecret
		if c.wrong {
			last := ids[len(ids)-1]
			want = &ledger.WrongSecret{Webhook: last, Shown: shown[last], Compared: ids}
		}
		if got.WrongSecret != nil {
			got.WrongSecret.Version = 0
		}
		var says []string
		for _, line := range w.log.Drain(t) {
			if line["event"] == "alert" {
				says = append(says, line["reason"].(string))
			} else if outcome, ok := line["outcome"].(string); ok && outcome != "pass" {
				says = append(says, outcome)
			}
			if text := fmt.Sprint(line["msg"], line["message"]); c.wrong && strings.Contains(text, "signs the webhook's") &&
				!strings.Contains(text, "; without OPLEDGER_WEBHOOK_URL Gemini's webhooks were compared: "+
					strings.Join(ids, ", ")) {
				t.Errorf("W1: %s: %s", c.about, text)
			}
		}
		if diff := cmp.Diff(want, got.WrongSecret); diff != "" || got.NoWebhook != c.noWebhook || got.Errors != 0 ||
			got.Webhook != c.health || strings.Join(says, " ") != c.says ||
			got.SecretFitsAt.Equal(w.clock.Now()) != (c.health != ledger.WebhookNone) {
			t.Errorf("W1: %s: %+v, logged %q, -want +got\n%s", c.about, got, says, diff)
		}
		if n := requests - before; n != 1 {
			t.Errorf("W1: %s: %d requests", c.about, n)
		}
	}
}

// TestNoSecretIsWrong: a process whose webhook has no secret says that none is the wrong one, and nothing of a webhook
// of others; one that accepts tokens does not say that nothing can be delivered [W1].
func TestNoSecretIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at, _ := w.endpoint(webhooks.Enabled)
	at.URL = ""
	at.Secrets = func(context.Context) ([]string, error) { return []string{"whsec_other"}, nil }
	if got := w.lastPass(reconcile.Options{Endpoint: at}); got.WrongSecret == nil {
		t.Error("W1: a wrong secret is not found")
	}
	at.Secrets = nil
	if got := w.lastPass(reconcile.Options{Endpoint: at}); got.WrongSecret == nil {
		t.Error("W1: a pass that cannot know has ended it")
	}
	if got := w.lastPass(reconcile.Options{Endpoint: at, Unsigned: true}); got.WrongSecret != nil || got.NoWebhook {
		t.Errorf("W1: without a secret: %+v", got)
	}
	w = newWorld(t)
	at, _ = w.endpoint("")
	at.URL = ""
	if got := w.lastPass(reconcile.Options{Endpoint: at, Tokens: true}); got.NoWebhook {
		t.Errorf("W1: with tokens: %+v", got)
	}
}
