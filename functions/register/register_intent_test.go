package register_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestIntent: an intent is answered 201 when it is new, and 200 when it is known: with its state,
// and its operation once that is bound [G6].
func TestIntent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"intent":true,"correlationId":"c-1","jobKind":"review","metadata":{"b": 1},"collection":"BATCHES"}`
	r := w.post(body)
	i := r.Intent
	if r.Status != http.StatusCreated || i.State != ledger.IntentOpen || i.CorrelationID != "c-1" ||
		i.JobKind != "review" ||
		i.Metadata != `{"b":1}` || i.Collection != operation.Batches || !i.CreatedAt.Equal(noon) ||
		!i.GiveUpAt.Equal(noon.Add(6*time.Hour)) || r.Next.Verdict != ledger.MaySubmit {
		t.Fatalf("%d %+v %+v, want 201 with the intent", r.Status, i, r.Error)
	}
	if r := w.post(`{"intent":true,"correlationId":"c-1","jobKind":"other"}`); r.Status != http.StatusOK ||
		r.Intent.JobKind != "review" {
		t.Errorf("again: %d %+v, want 200 and what was there", r.Status, r.Intent)
	}
	if r := w.post(`{"name":"batches/a","correlationId":"c-1","intent":false}`); r.Status != http.StatusCreated ||
		r.Record.JobKind != "review" ||
		r.Record.Metadata != `{"b":1}` {
		t.Errorf("its registration: %d %+v %+v, want 201 with what the intent says", r.Status, r.Record, r.Error)
	}
	if r := w.post(body); r.Status != http.StatusOK || r.Intent.State != ledger.IntentBound ||
		r.Intent.Operation != "batches/a" {
		t.Errorf("after the registration: %d %+v, want 200, BOUND to batches/a", r.Status, r.Intent)
	}
	w.server.Close()
	decoder := json.NewDecoder(w.log)
	for _, want := range []string{"intent created <nil>", "intent known OPEN", "register created <nil>",
		"intent known BOUND"} {
		var line map[string]any
		if err := decoder.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(line["event"], " ", line["outcome"], " ", line["state"]); got != want ||
			line["duration_ms"] == nil {
			t.Errorf("logged %v, want %s", line, want)
		}
	}
}

// TestIntentProblems: an invalid intent is answered 400 with every problem at once, and writes
// nothing.
func TestIntentProblems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	long := strings.Repeat("x", 257)
	for name, c := range map[string]struct {
		body string
		want []string // one part of each problem
	}{
		"nothing":      {`{"intent":true}`, []string{"correlationId: it is missing"}},
		"a garbled id": {`{"intent":true,"correlationId":"c\ud800"}`, []string{"correlationId: it has U+FFFD"}},
		"empty id":     {`{"intent":true,"correlationId":""}`, []string{"correlationId"}},
		"a name": {`{"intent":true,"correlationId":"c","name":"batches/a"}`,
			[]string{"name: an intent is recorded before"}},
		"a submission": {`{"intent":true,"correlationId":"c","submittedAt":"2026-01-22T12:00:00Z"}`,
			[]string{"submittedAt"}},
		"a strange place": {`{"intent":true,"correlationId":"c","collection":"jobs"}`,
			[]string{`collection: it must be operations, batches`}},
		"not a truth":     {`{"intent":"yes","nome":1}`, []string{"intent: it must be true or false", `"nome"`}},
		"nothing refused": {`{"intent":true,"correlationId":"c","withdraw":true}`, []string{"attempt: it is missing"}},
		"a long attempt": {`{"intent":true,"correlationId":"c","attempt":"` + long + `"}`,
			[]string{"attempt: 257 bytes"}},
		"half an attempt":    {`{"intent":true,"correlationId":"c","attempt":"a\ud800"}`, []string{"attempt: it has U+FFFD"}},
		"no intent, refused": {`{"name":"batches/a","attempt":"a"}`, []string{"attempt, withdraw: only an intent"}},
		"no intent, a place": {`{"name":"batches/a","collection":"batches"}`, []string{"collection: the name says it"}},
		"no intent, no name": {`{"intent":false,"correlationId":"c"}`, []string{"name"}},
		"everything": {
			`{"intent":true,"name":"batches/a","jobKind":"` + long +
				`","metadata":[],"submittedAt":"2026-01-22T12:00:00Z","correlationId":"` + long + `","collection":"x","more":1}`,
			[]string{"metadata", `"more"`, "jobKind", "correlationId", "collection", "name", "submittedAt"},
		},
		"everything of the wrong kind": {
			`{"intent":true,"correlationId":1,"metadata":2,"collection":3}`,
			[]string{"collection: it must be a text", "correlationId: it must be a text", "metadata"},
		},
	} {
		r := w.post(c.body)
		if r.Status != http.StatusBadRequest || len(r.Error.Problems) != len(c.want) {
			t.Errorf("%s: %d %q, want 400 with %d problems", name, r.Status, r.Error.Problems, len(c.want))
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(r.Error.Problems[i], want) {
				t.Errorf("%s: problem %q, want one about %s", name, r.Error.Problems[i], want)
			}
		}
	}
	open, err := w.ledger.Intents.Waiting(t.Context(), ledger.Cursor{}, 10)
	if err != nil || len(open.Items) != 0 {
		t.Errorf("written: %v, %v", open, err)
	}
}

// TestIntentRefused: while the store is down the answer is 503, and logged.
func TestIntentRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := w.post(`{"intent":true,"correlationId":"c"}`); r.Status != http.StatusServiceUnavailable ||
		r.Header.Get("Retry-After") == "" {
		t.Errorf("%d, Retry-After %q", r.Status, r.Header.Get("Retry-After"))
	}
	w.server.Close()
	if said := w.log.String(); !strings.Contains(said, `"event":"intent"`) ||
		!strings.Contains(said, `"outcome":"error"`) {
		t.Errorf("logged %s", said)
	}
}
