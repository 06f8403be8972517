package register_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// TestVerdict: the answer to an intent says what the submitter may do, and how long it waits: one
// submits, however many ask and however often its answer is lost [G6].
func TestVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asks := func(attempt string, want ledger.IntentVerdict, seconds int) reply {
		t.Helper()
		r := w.post(`{"intent":true,"correlationId":"c-1","collection":"batches","attempt":"` + attempt + `"}`)
		if r.Next.Verdict != want || r.Next.WaitSeconds != seconds ||
			!r.Next.WaitUntil.IsZero() && !r.Next.WaitUntil.Equal(w.clock.Now().Add(time.Duration(seconds)*time.Second)) {
			t.Errorf("%s is answered %d %+v, want %s for %d s", attempt, r.Status, r.Next, want, seconds)
		}
		return r
	}
	asks("a", ledger.MaySubmit, 0)
	asks("a", ledger.MaySubmit, 0)
	asks("b", ledger.MustWait, 600)
	w.clock.Advance(5 * time.Minute)
	asks("b", ledger.MustWait, 300)
	page, err := w.ledger.Intents.Due(t.Context(), w.clock.Now(), ledger.Cursor{}, 1)
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	now := w.clock.Now()
	if _, err := w.ledger.Intents.Postpone(t.Context(), page.Items[0].Unlisted(time.Time{}, now), now); err != nil {
		t.Fatal(err)
	}
	asks("b", ledger.MaySubmit, 0)
	asks("c", ledger.MustWait, 600)
	w.post(`{"name":"batches/a","correlationId":"c-1"}`)
	w.log.Reset()
	if r := asks("c", ledger.IsBound, 0); r.Intent.Operation != "batches/a" ||
		!strings.Contains(w.log.String(), `"operation":"batches/a"`) {
		t.Errorf("bound to %+v, logged %s", r.Intent, w.log)
	}
	video := `{"intent":true,"correlationId":"v","collection":"operations"}`
	w.post(video)
	if r := w.post(video); r.Next.Verdict != ledger.MustWait || r.Next.WaitSeconds != 0 || !r.Next.WaitUntil.IsZero() {
		t.Errorf("a video, which no list decides: %+v", r.Next)
	}
}

// TestWithdraw: a submitter whose attempt Gemini refused takes its intent back, and no other's [G6].
func TestWithdraw(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asks := func(rest string) reply {
		return w.post(`{"intent":true,"correlationId":"c-1","collection":"batches","attempt":` + rest + `}`)
	}
	asks(`"a"`)
	for _, c := range []struct {
		rest      string
		withdrawn bool
	}{{`"b","withdraw":true`, false}, {`"a","withdraw":true`, true}, {`"a","withdraw":true`, true}} {
		if r := asks(c.rest); r.Status != http.StatusOK || r.Next.Withdrawn != c.withdrawn {
			t.Errorf("%s: %d %+v", c.rest, r.Status, r.Next)
		}
	}
	if r := asks(`"b"`); r.Status != http.StatusCreated || r.Next.Verdict != ledger.MaySubmit {
		t.Errorf("after it: %d %+v", r.Status, r.Next)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if r := asks(`"b","withdraw":true`); r.Status != http.StatusServiceUnavailable {
		t.Errorf("while the store is down: %d", r.Status)
	}
	w.server.Close()
	for _, outcome := range []string{"kept", "withdrawn", "error"} {
		if said := w.log.String(); !strings.Contains(said, `"outcome":"`+outcome+`"`) {
			t.Errorf("not logged: %s in %s", outcome, said)
		}
	}
}
