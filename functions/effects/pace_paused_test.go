package effects_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/opledger/opledger/shared/effect"
	"github.com/opledger/opledger/shared/ledger"
)

// TestPaused: while effects are paused nothing is claimed and no attempt is counted. Every message
// is acknowledged and counted. After the pause the sweep sends every effect, and each is performed
// once: nothing is lost [S9, R5].
func TestPaused(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		const n = 110 // more than a page of the sweep
		w.plan(n)
		before, err := w.ledger.Operations.Show(w.Context(), "batches/0000")
		if err != nil {
			w.Fatal(err)
		}
		paused := w.revision(true, "publish")
		if again, got := w.deliver(paused); again != 0 || !cmp.Equal(got, map[effect.Outcome]int{effect.Paused: n}) {
			w.Errorf("%d again, %v", again, got)
		}
		after, err := w.ledger.Operations.Show(w.Context(), "batches/0000")
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
		story, err := w.ledger.Operations.Show(w.Context(), "batches/0000")
		if err != nil || len(w.ran) != n || story.Effects[0].State != ledger.EffectDone || story.Effects[0].Attempts != 1 {
			w.Errorf("performed %d, %+v %v", len(w.ran), story.Effects, err)
		}
	})
}

// pausedReplays are messages during a pause in order, with their answers.
var pausedReplays = []struct{ what, id, data, want string }{
	{"dead", "1", `"batches/0000","effect":"publish","by":"me"`, `"paused","reason":"","replay":"reopened"`},
	{"dead, redelivered", "1", `"batches/0000","effect":"publish","by":"me"`,
		`"paused","reason":"","replay":"repeated"`},
	{"dead, of a push without an id", "", `"batches/0001","effect":"publish"`, `"skipped","reason":"dead"`},
	{"done", "2", `"batches/0002","effect":"publish"`, `"skipped","reason":"done"`},
	{"done, rerun", "3", `"batches/0002","effect":"publish","rerun":"fix-1"`,
		`"paused","reason":"","replay":"planned-rerun"`},
	{"done, rerun, redelivered", "3", `"batches/0002","effect":"publish","rerun":"fix-1"`,
		`"paused","reason":"","replay":"repeated"`},
	{"never planned", "4", `"batches/0002","effect":"later"`, `"paused","reason":"","replay":"planned"`},
	{"open", "5", `"batches/0003","effect":"publish"`, `"paused","reason":""`},
	{"no such operation", "6", `"batches/none","effect":"publish"`, `"skipped","reason":"absent","detail":`},
	{"the ledger's own", "7", `"batches/0003","effect":"publish","attempt":1`, `"paused","reason":""`},
}

// TestPausedReplay: what an operator's message asks for during a pause is recorded in the ledger at
// once, because a queue would not keep the message as long as a pause may last. Nothing runs until
// the pause ends. Then the sweep sends it, and it runs once, however often the message was
// delivered [G5, R5].
func TestPausedReplay(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(4)
		w.die("batches/0000", "batches/0001")
		w.topic.Drain()
		if report, err := w.revision(false, "publish").Run(w.Context(), first("batches/0002")); err != nil ||
			report.Outcome != effect.Finished {
			w.Fatalf("%+v %v", report, err)
		}
		w.log.Drain(w)
		w.rules("publish", "later") // a rule that came after the operations' end
		paused := w.revision(true, "publish", "later")
		for _, c := range pausedReplays {
			answer := httptest.NewRecorder()
			_, body := from(c.id, func(data string) (http.Header, string) { return nil, push(data) }, `{"operation":`+c.data+`}`)
			paused.ServeHTTP(answer, httptest.NewRequestWithContext(w.Context(), "POST", "/", strings.NewReader(body)))
			if got := answer.Body.String(); answer.Code != 200 || !strings.HasPrefix(got, `{"outcome":`+c.want) {
				w.Errorf("%s: %d %s, want %s", c.what, answer.Code, got, c.want)
			}
		}
		if line := w.log.Drain(w)[0]; line["outcome"] != "paused" || line["reason"] != "settings" ||
			line["replay"] != "reopened" || line["by"] != "me" {
			w.Errorf("logged %v", line)
		}
		for range 3 * 24 { // a long week-end
			time.Sleep(time.Hour)
			w.pass()
			if again, got := w.deliver(paused); again != 0 || !cmp.Equal(got, map[effect.Outcome]int{effect.Paused: 4}) {
				w.Fatalf("%d again, %v", again, got)
			}
		}
		if len(w.ran) != 1 {
			w.Errorf("performed %v", w.ran)
		}
		w.pass()
		if again, got := w.deliver(w.revision(false, "publish", "later")); again != 0 || got[effect.Finished] != 4 {
			w.Errorf("resumed: %d again, %v", again, got)
		}
		want := map[string]int{
			"gemini:batches/0000#publish": 1, "gemini:batches/0002#publish": 1, "gemini:batches/0002#publish@fix-1": 1,
			"gemini:batches/0002#later": 1, "gemini:batches/0003#publish": 1,
		}
		if diff := cmp.Diff(want, w.ran); diff != "" {
			w.Errorf("performed\n%s", diff)
		}
	})
}

// TestPausedUnknown: an operator's message about an effect that a paused revision does not know is
// redelivered, as without a pause.
func TestPausedUnknown(t *testing.T) {
	onLine(t, []string{"publish"}, func(w *line) {
		w.plan(1)
		w.die("batches/0000")
		byHand := ledger.Message{Operation: "batches/0000", Effect: "publish", ID: "1"}
		if report, err := w.revision(true).Run(w.Context(), byHand); err != nil || report.Outcome != effect.Unknown ||
			!report.Again() {
			w.Errorf("%+v %v", report, err)
		}
	})
}
