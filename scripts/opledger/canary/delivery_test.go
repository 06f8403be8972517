package canary

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opledger/opledger/shared/gemini"
	"github.com/opledger/opledger/shared/ledger"
)

// deliversTo lets the world deliver to a webhook that ingests, and then does what answer does.
func (w *world) deliversTo(answer http.HandlerFunc) {
	w.Helper()
	w.SigningSecret = func(context.Context) (string, error) {
		return "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n", nil
	}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.Error(err)
		}
		event, err := gemini.DecodeEvent(r.Header.Get(gemini.HeaderID), body)
		if err == nil {
			_, err = w.Ledger.Operations.Ingest(context.WithoutCancel(r.Context()), event)
		}
		if err != nil {
			w.Error(err)
		}
		answer(rw, r)
	}))
	w.Cleanup(server.Close)
	w.URL = server.URL
}

// TestDeliveryInterrupted: after ctrl-C in the middle of the step, what it left in the ledger is
// removed, and no step behind it is made.
func TestDeliveryInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.deliversTo(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	report := w.Canary.Run(ctx, func(Step) {})
	if report.OK || len(report.Steps) != 2 || report.Steps[1].Error != "interrupted" {
		t.Errorf("%+v", report)
	}
	if _, err := w.Ledger.Operations.Show(t.Context(), w.key); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("left in the ledger: %v", err)
	}
}

// TestDeliveryAnswered: each answer leads to the link that gives it, and whatever it is, nothing is
// left in the ledger.
func TestDeliveryAnswered(t *testing.T) {
	t.Parallel()
	ours := func(message string) string {
		text, err := json.Marshal(map[string]any{"error": map[string]any{"message": message}})
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	for _, c := range []struct {
		status      int
		body        string
		error, look string
	}{
		{200, `{"outcome":"ignored","reason":"not-found"}`, "", ""},
		{200, `<html>`, "what answers at the webhook's address is not x-webhook", "OPLEDGER_WEBHOOK_URL"},
		{200, `{"outcome":"applied","registered":true}`, "was not kept apart", "opledger show batches/opledger-canary-"},
		{401, ours("unfit"), "x-webhook refused the signature with the newest version of the secret: unfit", "webhook check"},
		{403, "Forbidden", "x-webhook is not public", "allUsers needs roles/run.invoker"},
		{404, "", "nothing answers at the webhook's address: 404", "gcloud run services describe x-webhook"},
		{503, ours("there is no secret yet"), "was answered 503: there is no secret yet", "gcloud functions logs"},
	} {
		w := newWorld(t)
		w.deliversTo(func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(c.status)
			_, _ = io.WriteString(rw, c.body)
		})
		made := w.make(t.Context(), step{"delivery", w.deliver})
		if !strings.Contains(made.Error, c.error) || (made.Error == "") != (c.error == "") ||
			!strings.Contains(made.LookAt, c.look) {
			t.Errorf("%d %s: %+v", c.status, c.body, made)
		}
		if _, err := w.Ledger.Operations.Show(t.Context(), w.key); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("%d %s: left in the ledger: %v", c.status, c.body, err)
		}
	}
}

// TestDeliveryUnavailable: what was answered 503 is delivered again, as Gemini does.
func TestDeliveryUnavailable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var deliveries atomic.Int32
	w.deliversTo(func(rw http.ResponseWriter, _ *http.Request) {
		if deliveries.Add(1) < 3 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(rw, `{"outcome":"unregistered"}`)
	})
	if made := w.make(t.Context(), step{"delivery", w.deliver}); made.Error != "" || deliveries.Load() != 3 {
		t.Errorf("after %d deliveries: %+v", deliveries.Load(), made)
	}
}
