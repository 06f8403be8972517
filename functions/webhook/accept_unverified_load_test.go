package webhook_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/gemini/geminisim"
)

// crowd sends unverified deliveries at once, one per name, while Gemini does not answer. When the
// given number is answered without Gemini, Gemini answers. crowd returns the number of each answer.
func (w *world) crowd(names []string, withoutGemini int) map[string]int {
	w.Helper()
	w.held.Lock()
	answered := make(chan reply)
	for i, name := range names {
		go func() { answered <- w.unverified(fmt.Sprintf("crowd-%d", i), event("batch.succeeded", name, t1)) }()
	}
	count := map[string]int{}
	for i := range names {
		if i == withoutGemini {
			w.held.Unlock()
		}
		r := <-answered
		count[fmt.Sprint(r.Status, " ", r.Body.Outcome, " ", r.Body.Reason)]++
		if r.Status != http.StatusOK {
			w.want503(r, 30)
		}
	}
	return count
}

// TestUnverifiedAtOnceForOne: of concurrent unverified deliveries about one operation one is looked
// up. The others make it due.
func TestUnverifiedAtOnceForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	name := w.batch("a", geminisim.StateSucceeded)
	w.register(name)
	names := make([]string, 20)
	for i := range names {
		names[i] = name
	}
	want := map[string]int{"200 applied advanced": 1, "200 ignored due-now": 19}
	if got := w.crowd(names, 19); !cmp.Equal(got, want) {
		t.Errorf("answers %v, want %v", got, want)
	}
	w.wantLookUps(1)
	if n := len(w.outbox.All()); n != 1 {
		t.Errorf("%d effects, want 1", n)
	}
}

// TestUnverifiedByRate: a caller with a captured token causes few requests to Gemini, however many
// deliveries it sends. Beyond that a registered operation becomes due, and other deliveries are
// answered 503. Deliveries with another token are still confirmed.
func TestUnverifiedByRate(t *testing.T) {
	t.Parallel()
	const all, most = 120, 30
	w := newWorld(t, options{})
	mine := w.batch("mine", geminisim.StateSucceeded)
	w.register(mine)
	token := w.token(nil, geminisim.TokenOptions{})
	send := func(token, name string) reply {
		return w.request(http.MethodPost, w.tokened("m-"+name, token), strings.NewReader(event("batch.succeeded", name, t1)))
	}
	answers := map[string]int{}
	for i := range all {
		r := send(token, fmt.Sprintf("batches/b%d", i))
		answers[fmt.Sprint(r.Status, " ", r.Body.Outcome, " ", r.Body.Reason)]++
	}
	if want := map[string]int{"200 ignored not-found": most, "503  ": all - most}; !cmp.Equal(answers, want) {
		t.Errorf("answers %v, want %v", answers, want)
	}
	w.wantLookUps(most)
	limited := 0
	for _, line := range w.logged() {
		if line["outcome"] == "unconfirmed" && line["reason"] == "token-limit" {
			limited++
		}
	}
	if limited != all-most {
		t.Errorf("%d are counted as limited, want %d", limited, all-most)
	}
	w.wantAccepted(send(token, mine), "ignored", "due-now", true)
	w.wantLookUps(0)
	w.wantAccepted(send(w.token(map[string]any{"jti": "another"}, geminisim.TokenOptions{}), mine), "applied",
		"advanced", true)
	w.wantLookUps(1)
	w.clock.Advance(time.Second)
	w.wantAccepted(send(token, "batches/later"), "ignored", "not-found", false)
	if r := send(token, "batches/too-soon"); r.Status != http.StatusServiceUnavailable {
		t.Errorf("%d, want 503", r.Status)
	}
}

// TestUnverifiedAtOnceForMany: however many operations concurrent unverified deliveries name, few
// are looked up at a time. Registered ones of the others become due; the rest are answered 503.
func TestUnverifiedAtOnceForMany(t *testing.T) {
	t.Parallel()
	const most, all = 16, 40
	for registered, rest := range map[bool]string{true: "200 ignored due-now", false: "503  "} {
		t.Run(fmt.Sprintf("registered=%t", registered), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			var names []string
			for i := range all {
				name := w.batch(fmt.Sprintf("b%d", i), geminisim.StateSucceeded)
				if registered {
					w.register(name)
				}
				names = append(names, name)
			}
			want := map[string]int{"200 applied advanced": most, rest: all - most}
			if got := w.crowd(names, all-most); !cmp.Equal(got, want) {
				t.Errorf("answers %v, want %v", got, want)
			}
			w.wantLookUps(most)
			busy := 0
			for _, line := range w.logged() {
				if line["reason"] == "busy" {
					busy++
				}
			}
			if !registered && busy != all-most {
				t.Errorf("%d are counted as busy, want %d", busy, all-most)
			}
		})
	}
}
