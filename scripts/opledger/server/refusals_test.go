package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/ledger/ledgertest"
	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/operation"
)

const (
	rightSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	wrongSecret = "whsec_YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODk="
)

// A refuser is a server with one signing secret, in a bubble of synctest, and what it writes.
type refuser struct {
	*testing.T
	server *Server
	writes *ledgertest.Counting
	stop   func() // ends the server's counting, and waits for it
}

func newRefuser(t *testing.T, more ...string) *refuser {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := config.Parse[Settings](append(more, "GEMINI_API_KEY=k", "OPLEDGER_WEBHOOK_SECRET="+rightSecret))
	if err != nil {
		t.Fatal(err)
	}
	r := &refuser{T: t, writes: ledgertest.Count(store)}
	r.server, err = New(t.Context(), settings, Options{
		Store: r.writes, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.server.keepRefusals(ctx)
	}()
	r.stop = func() { cancel(); <-ended }
	t.Cleanup(func() {
		r.stop()
		if err := errors.Join(r.server.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// deliver posts an event about an operation, signed with secret.
func (r *refuser) deliver(secret, name string, status int) {
	r.Helper()
	body := `{"type":"batch.succeeded","data":{"id":"` + name + `"}}`
	now := time.Now()
	header := http.Header{
		"Webhook-Id": {name}, "Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {geminisim.Sign(secret, name, now, []byte(body))},
	}
	if got, text := r.server.post(r.T, header, body); got != status {
		r.Errorf("%d %s, want %d", got, text, status)
	}
}

// problems returns what needs an operator.
func (r *refuser) problems() []overview.Problem {
	r.Helper()
	o, err := overview.Read(r.Context(), r.server.Ledger.Reading(), overview.Options{Interval: 5 * time.Minute, Most: 5})
	if err != nil {
		r.Fatal(err)
	}
	return o.Problems
}

// found ends an operation as a reconcile pass does that finds its end.
func (r *refuser) found(name string) {
	r.Helper()
	n := operation.Name{Key: operation.Key(name), Resource: name}
	_, err := r.server.Ledger.Operations.Register(r.Context(), ledger.Registration{Name: n})
	if err == nil {
		_, err = r.server.Ledger.Operations.Ingest(r.Context(), operation.Event{
			Name: n, DeliveryID: "reconcile-1", Source: operation.Reconcile, State: operation.Succeeded,
		})
	}
	if err != nil {
		r.Fatal(err)
	}
}

// TestServeTellsRefusals: with a wrong secret 20 of 20 deliveries are refused and every end is found by a
// look-up: that needs an operator within a minute, until a delivery is accepted [W1].
func TestServeTellsRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefuser(t)
		for i := range 20 {
			r.deliver(wrongSecret, "batches/"+strconv.Itoa(i), http.StatusUnauthorized)
		}
		time.Sleep(2 * storeRefusalsEvery)
		if got := r.problems(); len(got) != 0 {
			t.Errorf("strangers alone: %+v", got)
		}
		r.found("batches/1")
		if got := r.problems(); len(got) != 1 || got[0].About != overview.AboutWebhook {
			t.Errorf("%+v", got)
		}
		r.deliver(rightSecret, "batches/1", http.StatusOK)
		time.Sleep(2 * storeRefusalsEvery)
		if got := r.problems(); len(got) != 0 {
			t.Errorf("after a delivery was accepted: %+v", got)
		}
	})
}

// TestPassTellsRefusals: that Gemini's own deliveries are refused is known at the end of the pass that finds a
// completion, and not with the write of the next minute, also where Gemini's webhooks cannot be listed. Where it has
// none, they are strangers' [W1].
func TestPassTellsRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listed bool
		want   string // the playbook
	}{{false, "refused"}, {true, ""}} {
		sim := geminisim.New(geminisim.Config{})
		api := httptest.NewServer(sim.Handler())
		t.Cleanup(func() { sim.Close(); api.Close() })
		if !c.listed {
			none := geminisim.ErrorAnswer(http.StatusNotFound, "no such page")
			none.Times = -1
			sim.AnswerNext(geminisim.OpWebhook, "", none)
		}
		sim.Script("a", geminisim.Script{Hold: geminisim.StateSucceeded})
		create := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1beta/models/m:batchGenerateContent",
			strings.NewReader(`{"batch":{"displayName":"a","inputConfig":{"fileName":"files/x"}}}`))
		create.Header.Set("X-Goog-Api-Key", "k")
		sim.Handler().ServeHTTP(httptest.NewRecorder(), create)
		name := sim.Batches()[0].Name
		r := newRefuser(t, "GOOGLE_GEMINI_BASE_URL="+api.URL, "OPLEDGER_GRACE=1ns")
		n := operation.Name{Key: operation.Key(name), Resource: name}
		for range 3 {
			r.deliver(wrongSecret, name, http.StatusUnauthorized)
		}
		r.server.pass(t.Context())
		if got := r.problems(); len(got) != 0 {
			t.Errorf("strangers alone: %+v", got)
		}
		if _, err := r.server.Ledger.Operations.Register(t.Context(), ledger.Registration{Name: n}); err != nil {
			t.Fatal(err)
		}
		r.server.pass(t.Context())
		playbook := ""
		for _, problem := range r.problems() {
			playbook += problem.Playbook
		}
		stored, err := r.server.Ledger.Passes.Refusals(t.Context())
		if playbook != c.want || stored.Count != 3 || err != nil {
			t.Errorf("listed %v: %q, %+v, %v", c.listed, playbook, stored, err)
		}
	}
}

// TestPassKnowsTheGate: the passes of a process know that its webhook has no secret, and that it accepts tokens; those
// of a command, which has no webhook, know neither [W1].
func TestPassKnowsTheGate(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		set              string
		command          bool
		unsigned, tokens bool
	}{
		{"OPLEDGER_WEBHOOK_SECRET=" + rightSecret, false, false, false},
		{"", false, true, false},
		{"OPLEDGER_WEBHOOK_AUDIENCE=https://webhook.example", false, true, true},
		{"", true, false, false},
	} {
		settings, err := config.Parse[Settings]([]string{"GEMINI_API_KEY=k", cmp.Or(c.set, "OPLEDGER_WEBHOOK_SECRET=")})
		if err != nil {
			t.Fatal(err)
		}
		if c.command {
			settings.Webhook = config.Webhook{}
		}
		s, err := New(t.Context(), settings, Options{
			Store: store, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		if p := s.Reconciler; p.Unsigned != c.unsigned || p.Tokens != c.tokens {
			t.Errorf("%q, a command %v: without a secret %v, tokens %v", c.set, c.command, p.Unsigned, p.Tokens)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusalsCostAWriteAMinute: whatever callers send who prove nothing, what they cost is one write a
// minute, of one document, and none is lost at the end of the server [W1].
func TestRefusalsCostAWriteAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefuser(t)
		time.Sleep(storeRefusalsEvery)
		before := r.writes.Counts()
		for range 100 {
			for range 5 {
				r.deliver(wrongSecret, "batches/a", http.StatusUnauthorized)
			}
			time.Sleep(storeRefusalsEvery / 10)
		}
		synctest.Wait()
		if writes := r.writes.Counts().Writes - before.Writes; writes > 11 {
			t.Errorf("%d writes in ten minutes", writes)
		}
		r.deliver(wrongSecret, "batches/a", http.StatusUnauthorized)
		r.stop()
		stored, err := r.server.Ledger.Passes.Refusals(t.Context())
		if err != nil || stored.Count != 501 || stored.Reason != "signature" {
			t.Errorf("%+v, %v", stored, err)
		}
	})
}

// TestAcceptedDeliveriesCostNoMore: while none is refused, the count of deliveries is never written, and
// read once.
func TestAcceptedDeliveriesCostNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefuser(t)
		for range 3 {
			r.deliver(rightSecret, "batches/a", http.StatusOK)
			time.Sleep(2 * storeRefusalsEvery)
		}
		stored, err := r.server.Ledger.Passes.Refusals(t.Context())
		if err != nil || stored != (ledger.Refusals{}) || !r.server.refusals.none {
			t.Errorf("%+v, %v", stored, err)
		}
		if counted := r.server.refusals.take(); counted != (ledger.Refusals{}) {
			t.Errorf("%+v", counted)
		}
	})
}

// TestRefusalsAreKept: what could not be stored is stored later, with what came meanwhile.
func TestRefusalsAreKept(t *testing.T) {
	t.Parallel()
	var r refusals
	at := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	r.count("signature", at)
	counted := r.take()
	r.count("no-secret", at.Add(time.Minute))
	r.stored(counted, ledger.Refusals{}, ledger.ErrUnavailable)
	want := ledger.Refusals{Count: 2, Reason: "no-secret", FirstAt: at, LastAt: at.Add(time.Minute)}
	if got := r.take(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
