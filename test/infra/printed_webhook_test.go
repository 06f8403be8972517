package infra_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing/iotest"
	"time"

	"github.com/opledger/opledger/functions/webhook"
	"github.com/opledger/opledger/shared/confirm"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/shared/trust"
)

const (
	secret    = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	other     = "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="
	audience  = "https://receiver.example/webhook"
	tolerance = 5 * time.Minute
)

// webhook returns the function. change, if any, changes its settings from one secret and one
// audience.
func (w *world) webhook(change func(*trust.Options)) http.Handler {
	w.Helper()
	believed := trust.Options{Tolerance: tolerance}
	var err error
	if believed.Static, err = trust.FixedSecrets(secret); err != nil {
		w.Fatal(err)
	}
	believed.Dynamic, err = trust.NewTokens(trust.TokensOptions{
		Audiences: []string{audience}, KeysURL: w.api.URL + geminisim.JWKSPath, Transport: w.api.Client().Transport,
		Log: w.log("webhook"),
	})
	if err != nil {
		w.Fatal(err)
	}
	if change != nil {
		change(&believed)
	}
	gate, err := trust.New(believed)
	if err != nil {
		w.Fatal(err)
	}
	return webhook.New(webhook.Options{
		Ledger: w.ledger, Gate: gate, Confirm: trust.Dynamic, Now: w.clock.Now, Log: w.log("webhook"),
		Count: w.count, Timeout: time.Minute,
		Confirmer: confirm.New(confirm.Options{
			Ledger: w.ledger, Gemini: func(context.Context) (*lookup.Client, error) { return w.client, nil }, Now: w.clock.Now,
		}),
	})
}

// delivered delivers a body that is signed now, with the one secret.
func (w *world) delivered(id, body string) {
	w.Helper()
	w.post(w.webhook(nil), w.signed(secret, id, w.clock.Now(), body), body)
}

func (w *world) signed(secret, id string, at time.Time, body string) http.Header {
	return delivery(id, at, geminisim.Sign(secret, id, at, []byte(body)))
}

// tokened returns the headers of a delivery with a token, which does not cover its body.
func (w *world) tokened(id string) http.Header {
	return w.claiming(id, func(map[string]any) {})
}

// claiming is tokened with changes to the token's claims.
func (w *world) claiming(id string, change func(claims map[string]any)) http.Header {
	claims := w.sim.Claims(audience, nil)
	change(claims)
	return delivery(id, w.clock.Now(), w.sim.Token(claims, geminisim.TokenOptions{}))
}

// crowd sends a delivery and, at the end of its body, the next one, until one is refused for lack
// of room.
func (w *world) crowd(function http.Handler) {
	w.request(http.MethodPost, function, w.signed(secret, "m1", w.clock.Now(), ""), &nested{left: 900 << 10, end: func() {
		w.crowd(function)
	}})
}

// A nested body has a size, and calls a function before it ends.
type nested struct {
	left int
	end  func()
}

func (b *nested) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.end()
		return 0, io.EOF
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

func delivery(id string, at time.Time, signature string) http.Header {
	return http.Header{
		"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {signature},
	}
}

// event is a body as Gemini documents it.
func (w *world) event(kind, name string) string {
	return fmt.Sprintf(`{"type":%q,"version":"v1","timestamp":%q,"data":{"id":%q}}`, kind,
		w.clock.Now().Format(time.RFC3339), name)
}

// ended registers a batch and delivers its end; the situation begins after that.
func (w *world) ended(name string) {
	w.Helper()
	w.registered(w.named(name))
	w.delivered("end", w.event("batch.succeeded", name))
	w.forget()
	w.clock.Advance(time.Minute)
}

var ofWebhook = []situation{
	{"webhook: an event", func(w *world) {
		w.registered(w.named("batches/a"))
		w.delivered("m1", w.event("batch.running", "batches/a"))
	}, []string{"arrivals", "deliveries"}},
	{"webhook: about what a newer revision wrote", func(w *world) {
		w.raise(ledger.OperationPath(w.registered(w.named("batches/a")).Key))
		w.delivered("m1", w.event("batch.running", "batches/a"))
	}, []string{"arrivals", "deliveries", "newer"}},
	{"webhook: an end longer ago than the retention", func(w *world) {
		w.registered(w.named("batches/a"))
		w.delivered("m1", `{"type":"batch.succeeded","timestamp":"2025-01-01T00:00:00Z","data":{"id":"batches/a"}}`)
	}, []string{"arrivals", "deliveries", "ends", "withheld"}},
	{"webhook: the same delivery again", func(w *world) {
		w.ended("batches/a")
		w.delivered("end", w.event("batch.succeeded", "batches/a"))
	}, []string{"arrivals", "deliveries"}},
	{"webhook: the same end again", func(w *world) {
		w.ended("batches/a")
		w.delivered("m2", w.event("batch.succeeded", "batches/a"))
	}, []string{"arrivals", "deliveries"}},
	{"webhook: an event that comes too late", func(w *world) {
		w.ended("batches/a")
		w.delivered("m2", w.event("batch.running", "batches/a"))
	}, []string{"arrivals", "deliveries", "regressions"}},
	{"webhook: another end", func(w *world) {
		w.ended("batches/a")
		w.delivered("m2", w.event("batch.failed", "batches/a"))
	}, []string{"arrivals", "deliveries", "conflicts"}},
	{"webhook: another name, and the correlation id", func(w *world) {
		if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: w.named("batches/a"),
			Submission: operation.Submission{CorrelationID: "c-1"}}); err != nil {
			w.Fatal(err)
		}
		w.delivered("m1",
			`{"type":"batch.succeeded","data":{"id":"batch_1","user_metadata":{"opledger_correlation_id":"c-1"}}}`)
	}, []string{"arrivals", "deliveries", "ends", "correlated"}},
	{"webhook: an unregistered operation", func(w *world) {
		w.delivered("m1", w.event("batch.succeeded", "batches/a"))
	}, []string{"arrivals", "deliveries", "unmatched"}},
	{"webhook: a canary's operation", func(w *world) {
		w.delivered("m1", w.event("batch.succeeded", "batches/opledger-canary-1"))
	}, nil},
	{"webhook: a registered operation that is named like a canary's", func(w *world) {
		w.registered(w.named("batches/opledger-canary-1"))
		w.delivered("m1", w.event("batch.succeeded", "batches/opledger-canary-1"))
	}, []string{"arrivals", "deliveries", "ends"}},
	{"webhook: a batch that a canary submitted, twice", func(w *world) {
		if _, err := w.ledger.Operations.Register(w.Context(), ledger.Registration{Name: w.named("batches/a"),
			Submission: operation.Submission{CorrelationID: "opledger-canary-1"}}); err != nil {
			w.Fatal(err)
		}
		w.delivered("m1", w.event("batch.succeeded", "batches/a"))
		w.delivered("m1", w.event("batch.succeeded", "batches/a"))
	}, []string{"arrivals", "deliveries", "ends"}},
	{"webhook: a body that cannot be read", func(w *world) {
		w.delivered("m1", `{"type":`)
	}, []string{"arrivals", "deliveries", "quarantined"}},
	{"webhook: that body again", func(w *world) {
		w.delivered("m1", `{"type":`)
		w.forget()
		w.delivered("m1", `{"type":`)
	}, []string{"arrivals", "deliveries"}},
	{"webhook: a type of tomorrow", func(w *world) {
		w.delivered("m1", w.event("batch.archived", "batches/a"))
	}, []string{"arrivals", "deliveries"}},
	{"webhook: a ping", func(w *world) {
		w.delivered("m1", `{"type":"webhook.ping"}`)
	}, []string{"arrivals", "deliveries"}},
	{"webhook: the store is down", func(w *world) {
		w.storeDown()
		w.delivered("m1", w.event("batch.succeeded", "batches/a"))
	}, []string{"arrivals", "deliveries", "ledger-errors"}},
	{"webhook: the store is down for the quarantine", func(w *world) {
		w.storeDown()
		w.delivered("m1", "{")
	}, []string{"arrivals", "deliveries", "ledger-errors"}},
	{"webhook: the topic takes nothing", func(w *world) {
		w.registered(w.named("batches/a"))
		w.outbox.Fail(errors.New("the topic is gone"))
		w.delivered("m1", w.event("batch.succeeded", "batches/a"))
	}, []string{"arrivals", "deliveries", "ends", "unpublished"}},
	{"webhook: not a POST, and too much", func(w *world) {
		w.request(http.MethodGet, w.webhook(nil), http.Header{}, http.NoBody)
		large := strings.Repeat("a", 1<<20+1)
		w.post(w.webhook(nil), w.signed(secret, "m1", w.clock.Now(), large), large)
	}, []string{"arrivals", "refused"}},
}

var ofProofs = []situation{
	{"webhook: a forger", func(w *world) {
		w.post(w.webhook(nil), w.signed(other, "m1", w.clock.Now(), "{}"), "{}")
	}, []string{"arrivals", "refused"}},
	{"webhook: a forger with an old time", func(w *world) {
		w.post(w.webhook(nil), w.signed(other, "m1", w.clock.Now().Add(-tolerance-time.Second), "{}"), "{}")
	}, []string{"arrivals", "refused"}},
	{"webhook: signed too long ago", func(w *world) {
		w.post(w.webhook(nil), w.signed(secret, "m1", w.clock.Now().Add(-tolerance-time.Second), "{}"), "{}")
	}, []string{"arrivals", "refused", "stale"}},
	{"webhook: no secret yet", func(w *world) {
		w.post(w.webhook(func(o *trust.Options) { o.Static = nil }), w.signed(secret, "m1", w.clock.Now(), "{}"), "{}")
	}, []string{"arrivals", "no-secret", "refused"}},
	{"webhook: an id by which a delivery could be divided again", func(w *world) {
		w.post(w.webhook(nil), w.signed(secret, "m.1", w.clock.Now(), "{}"), "{}")
	}, []string{"arrivals", "misread", "refused"}},
	{"webhook: bodies that have no room", func(w *world) { w.crowd(w.webhook(nil)) }, []string{"arrivals", "refused"}},
	{"webhook: a body that takes too long", func(w *world) {
		w.request(http.MethodPost, w.webhook(nil), w.signed(secret, "m1", w.clock.Now(), ""),
			iotest.ErrReader(os.ErrDeadlineExceeded))
	}, []string{"arrivals", "refused"}},
	{"webhook: a token that says nothing of its time", func(w *world) {
		w.post(w.webhook(nil), w.claiming("m1", func(claims map[string]any) {
			delete(claims, "exp")
			delete(claims, "iat")
		}), "{}")
	}, []string{"arrivals", "misread", "refused"}},
	{"webhook: a token without an end, made long ago", func(w *world) {
		w.post(w.webhook(nil), w.claiming("m1", func(claims map[string]any) {
			delete(claims, "exp")
			claims["iat"] = w.clock.Now().Add(-26 * time.Hour).Unix()
		}), "{}")
	}, []string{"arrivals", "refused"}},
	{"webhook: a token, and no audience", func(w *world) {
		w.post(w.webhook(func(o *trust.Options) { o.Dynamic = nil }), w.tokened("m1"), "{}")
	}, []string{"arrivals", "refused"}},
	{"webhook: Gemini's keys cannot be had", func(w *world) {
		w.sim.AnswerNext(geminisim.OpJWKS, "", geminisim.ErrorAnswer(http.StatusServiceUnavailable, "away"))
		w.post(w.webhook(nil), w.tokened("m1"), "{}")
	}, []string{"arrivals", "refused", "unverifiable"}},
	{"webhook: a hint", func(w *world) {
		name := w.registered(w.batch("a", geminisim.StateSucceeded))
		w.post(w.webhook(nil), w.tokened("m1"), w.event("batch.succeeded", name.Resource))
	}, []string{"arrivals", "deliveries", "ends"}},
	{"webhook: an unverified delivery about an unregistered operation", func(w *world) {
		w.post(w.webhook(nil), w.tokened("m1"), w.event("batch.succeeded", w.batch("a", geminisim.StateSucceeded).Resource))
	}, []string{"arrivals", "deliveries", "unmatched"}},
	{"webhook: a hint about nothing", func(w *world) {
		w.post(w.webhook(nil), w.tokened("m1"), w.event("batch.succeeded", "batches/none"))
	}, []string{"arrivals", "deliveries"}},
	{"webhook: an unverified delivery that cannot be read", func(w *world) {
		w.post(w.webhook(nil), w.tokened("m1"), "{")
	}, []string{"arrivals", "deliveries"}},
	{"webhook: a hint that Gemini does not confirm", func(w *world) {
		name := w.registered(w.batch("a", geminisim.StateSucceeded))
		w.sim.AnswerNext(geminisim.OpGet, name.Resource, geminisim.ErrorAnswer(http.StatusServiceUnavailable, "away"))
		w.post(w.webhook(nil), w.tokened("m1"), w.event("batch.succeeded", name.Resource))
	}, []string{"arrivals", "deliveries", "unconfirmed"}},
}
