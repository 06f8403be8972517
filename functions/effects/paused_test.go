package effects_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestPaused: while effects are paused nothing is claimed and no attempt is counted, whatever comes; every message is let go
// and counted. When the setting is gone the sweep brings every effect back, and each is performed once: nothing is lost [S9, R5].
func TestPaused(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		const n = 110 // more than a page of the sweep
		w.plan(n)
		before, err := w.ledger.Show(w.Context(), "batches/0000")
		if err != nil {
			w.Fatal(err)
		}
		paused := w.revision(true, "publish")
		if again, got := w.deliver(paused); again != 0 || !cmp.Equal(got, map[effect.Outcome]int{effect.Paused: n}) {
			w.Errorf("%d again, %v", again, got)
		}
		after, err := w.ledger.Show(w.Context(), "batches/0000")
		if err != nil {
			w.Fatal(err)
		}
		if diff := cmp.Diff(before.Effects, after.Effects); diff != "" {
			w.Errorf("the effect changed\n%s", diff)
		}
		for range 11 { // longer than any number of attempts
			if summary := w.pass(); summary.EffectsRequeued != n || summary.More {
				w.Fatalf("%+v", summary)
			}
			if again, got := w.deliver(paused); again != 0 || got[effect.Paused] != n {
				w.Errorf("%d again, %v", again, got)
			}
		}
		if got := w.lines(); got["effect paused"] != 12*n {
			w.Errorf("logged %v", got)
		}

		w.pass()
		if again, got := w.deliver(w.revision(false, "publish")); again != 0 || got[effect.Finished] != n {
			w.Errorf("resumed: %d again, %v", again, got)
		}
		for key, times := range w.ran {
			if times != 1 {
				w.Errorf("%s was performed %d times", key, times)
			}
		}
		story, err := w.ledger.Show(w.Context(), "batches/0000")
		if err != nil || len(w.ran) != n || story.Effects[0].State != ledger.EffectDone || story.Effects[0].Attempts != 1 {
			w.Errorf("performed %d, %+v %v", len(w.ran), story.Effects, err)
		}
	})
}

// TestPausedByHand: what a person sent is kept by Pub/Sub until the pause is over, since no sweep repeats it: 503, not too soon.
func TestPausedByHand(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		paused := w.revision(true, "publish")
		byHand := ledger.Message{Operation: "batches/0000", Effect: "publish"}
		if report, err := paused.Run(w.Context(), byHand); err != nil || !report.Again() || report.RetryAfter < time.Minute {
			w.Errorf("%+v %v", report, err)
		}
		for message, status := range map[string]int{
			`{"operation":"batches/0000","effect":"publish"}`:             503,
			`{"operation":"batches/0000","effect":"publish","attempt":1}`: 200,
		} {
			answer := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(w.Context(), "POST", "/", strings.NewReader(push(message)))
			paused.ServeHTTP(answer, request)
			if answer.Code != status || !strings.Contains(answer.Body.String(), "paused") {
				w.Errorf("%s: %d %s, want %d", message, answer.Code, answer.Body, status)
			}
		}
		if len(w.ran) != 0 {
			w.Errorf("performed %v", w.ran)
		}
		if report, err := w.revision(false, "publish").Run(w.Context(), byHand); err != nil || report.Outcome != effect.Finished {
			w.Errorf("%+v %v", report, err)
		}
	})
}
