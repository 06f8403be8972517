package console

import (
	"context"
	"html"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// says checks that a page has these words in this order.
func says(t *testing.T, page string, words ...string) {
	t.Helper()
	rest := page
	for _, word := range words {
		_, after, found := strings.Cut(rest, html.EscapeString(word))
		if !found {
			t.Errorf("without %q after what is before it: %s", word, page)
			return
		}
		rest = after
	}
}

// TestGone: that Gemini does not know an operation is an answer, which says what follows from it: for
// one that ended in two ways, one that is waited for, and one that is waited for no longer.
func TestGone(t *testing.T) {
	t.Parallel()
	w := acting(t)
	lookUp := func(key string) string {
		t.Helper()
		answer := w.post(w.question(link(askPath, "do", "lookup", theKey, key)))
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d", key, answer.Code)
		}
		return answer.Body.String()
	}
	says(t, w.get("/console/operation?key=batches%2Fdone").Body.String(), "It ended in two ways.", "SUCCEEDED stands",
		"Ask Gemini how it ended", "If SUCCEEDED is true, nothing is to be undone. If FAILED is, undo by hand")
	says(t, lookUp("batches/done"), "Gemini does not know it any more",
		"nothing more can be learned from it. SUCCEEDED stands.", "Find in your own records",
		"If FAILED is, undo by hand what the effects of SUCCEEDED did. Then resolve the conflict.",
		"leaves the overview 7 days after")
	if page := lookUp("batches/done"); !strings.Contains(page, `<a href="`+playbookAddress("conflicts")+`">`) {
		t.Errorf("no link to the playbook: %s", page)
	}
	says(t, lookUp("batches/missing"), "Gemini does not know batches/missing. It is looked up again at ",
		"abandon it. "+laterEnd)
	form := w.question(everyAction[1].address())
	form.Set("why", "lost")
	says(t, w.post(form).Body.String(), "batches/missing abandoned by ada", laterEnd)
	says(t, lookUp("batches/missing"), "It is waited for no longer, and stays PENDING.", laterEnd)
	page := w.get("/console/operation?key=batches%2Fmissing").Body.String()
	says(t, page, "This is decided: it is waited for no longer, and stays PENDING.", laterEnd, "asks Gemini once",
		"Look up now")
	if strings.Contains(page, "button primary") {
		t.Errorf("what is decided is asked once more: %s", page)
	}
}

// TestLaterEnd: an end that is reported after the waiting was ended is applied, and runs its effects, as
// the pages say [R4].
func TestLaterEnd(t *testing.T) {
	t.Parallel()
	w := acting(t)
	form := w.question(everyAction[1].address())
	form.Set("why", "lost")
	w.post(form)
	w.event("batches/missing", "late", operation.Succeeded, operation.Webhook)
	story, err := w.Operations.Show(t.Context(), "batches/missing")
	w.do(err)
	if story.Record.State != operation.Succeeded || len(story.Effects) != 1 {
		t.Errorf("%+v", story)
	}
}

// TestStarted: what runs on is not said to be done; its answer leads to the timeline, and the page
// counts the attempts since.
func TestStarted(t *testing.T) {
	t.Parallel()
	w := acting(t)
	answer := w.post(w.question(everyAction[2].address())).Body.String()
	says(t, answer, "Started", "was started by this process", "Its outcome will be in the timeline")
	if !strings.Contains(answer, "#timeline\">See its timeline") || strings.Contains(answer, "<h1>Done") {
		t.Errorf("%s", answer)
	}
	w.attempt("batches/dead", func(ctx context.Context, lease ledger.Lease) error { return w.Effects.Finish(ctx, lease) })
	says(t, w.get("/console/operation?key=batches%2Fdead").Body.String(), "1 attempt since the replay, 2 in all")
	w.console.options.Actions.Elsewhere, w.console.options.Actions.Overrides = true, false
	says(t, w.post(w.question(everyAction[3].address())).Body.String(), "Enqueued", "a worker runs it")
}

// TestPausedFirst: that an action overrides a pause is said first, on the page that offers it, too; an
// effect that is due says that it waits.
func TestPausedFirst(t *testing.T) {
	t.Parallel()
	w := acting(t)
	const all = "This process runs it all the same."
	says(t, w.get(everyAction[2].address()).Body.String(), "Run publish of batches/dead again?", all, "What will happen")
	if page := w.get(everyAction[2].address()).Body.String(); !strings.Contains(page,
		`<p class="problem warn" role="alert">Effects are paused`) {
		t.Errorf("%s", page)
	}
	const dead, failing = "/console/operation?key=batches%2Fdead", "/console/operation?key=batches%2Ffailing"
	says(t, w.get(dead).Body.String(), "Run it again", "Effects are paused, and this process runs it all the same.")
	w.pass(2 * time.Hour)
	says(t, w.get(failing).Body.String(), "publish waits for the pause to end", "the next attempt, when the pause ends")
	w.console.options.Actions.Elsewhere, w.console.options.Actions.Overrides = true, false
	says(t, w.get(everyAction[2].address()).Body.String(), "It runs when the pause ends.", "What will happen")
	if page := w.get(dead).Body.String(); strings.Contains(page, "all the same") {
		t.Errorf("a worker does not run it: %s", page)
	}
}

// TestPauseDiffers: the settings say where this process and the last pass do not agree, and the page of
// the effects which remedy is whose.
func TestPauseDiffers(t *testing.T) {
	t.Parallel()
	w := acting(t)
	const settings = "/console/settings"
	says(t, w.get(settings).Body.String(), "says that effects are paused. For this process they are not.",
		"runs in spite of the pause")
	w.console.options.Effects.Paused = true
	if page := w.get(settings).Body.String(); strings.Contains(page, "differs") {
		t.Errorf("%s", page)
	}
	report := func(pass ledger.Pass) {
		t.Helper()
		lookups, err := w.Passes.Begin(t.Context(), time.Second)
		w.do(err)
		pass.Began, pass.Ended = w.now, w.now
		w.do(lookups.Report(t.Context(), pass))
	}
	w.pass(time.Second)
	report(ledger.Pass{Outcome: ledger.PassDone, Effects: ledger.EffectsRunning, Webhook: ledger.WebhookNone})
	says(t, w.get(settings).Body.String(), "says that effects are running. For this process they are paused.")
	says(t, w.get("/").Body.String(), "unset OPLEDGER_EFFECTS_PAUSED here", "none known",
		"to the last pass")
	own := w.get("/console/effects").Body.String()
	says(t, own, "End the pause of this console", "Unset OPLEDGER_EFFECTS_PAUSED where this console is started")
	if strings.Contains(own, "resume --effects") { // it changes nothing: serve is not paused
		t.Errorf("%s", own)
	}
	w.pass(time.Second)
	report(ledger.Pass{Outcome: ledger.PassDone, Effects: ledger.EffectsPaused, Requeued: 1})
	says(t, w.get("/console/passes").Body.String(), "everything due was handled, but for effects, which are paused",
		"1 effect waits for the pause to end")
	file := w.get("/console/effects").Body.String()
	says(t, file, "End the pause", "with its own settings", "opledger resume --effects --store sqlite:demo.db")
	if strings.Contains(file, "terraform") {
		t.Errorf("%s", file)
	}
	w.console.options.Location = config.Store{Database: "(default)"}
	deployed := w.get("/console/effects").Body.String()
	says(t, deployed, "This ledger is in Firestore", "terraform", "opledger serve", "unset OPLEDGER_EFFECTS_PAUSED where")
	if strings.Contains(deployed, `data-copy="unset`) { // in another shell it ends nothing
		t.Errorf("%s", deployed)
	}
}

// TestNavigation: a page that has no name of its own in the navigation is shown behind its list.
func TestNavigation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	for address, current := range map[string]string{
		"/": `href="/" aria-current="page"`, "/console/effects": `href="/console/effects" aria-current="page"`,
		"/console/operation?key=batches%2Fdead": `href="/console/operations" aria-current="true"`,
		"/console/intent?key=night-2":           `href="/console/intents" aria-current="true"`,
		"/console/quarantined?key=msg_bad":      `href="/console/quarantine" aria-current="true"`,
	} {
		if page := w.get(address).Body.String(); !strings.Contains(page, current) {
			t.Errorf("%s: without %s: %s", address, current, page)
		}
	}
}

// TestOnceAgain: dead effects that have one receiver are run again once it answers.
func TestOnceAgain(t *testing.T) {
	t.Parallel()
	dead := func(texts ...string) (all []ledger.Effect) {
		for _, text := range texts {
			all = append(all, ledger.Effect{LastError: text})
		}
		return all
	}
	const a = "https://a.example answered 500"
	for want, effects := range map[string][]ledger.Effect{
		"Once a.example answers as it should": dead(a, a+" again"),
		"Once the cause is gone":              dead(a, "https://b.example answered 500"),
	} {
		if got := onceAgain(effects); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := onceAgain(dead(a, "the topic is gone")); got != "Once the cause is gone" {
		t.Errorf("%q", got)
	}
}

// TestResolved: a resolved conflict calls for no operator, and the page says who decided what.
func TestResolved(t *testing.T) {
	t.Parallel()
	w := acting(t)
	const done = "/console/operation?key=batches%2Fdone"
	says(t, w.get("/console/operations?show=conflict").Body.String(), "opledger resolve NAME",
		"Let FAILED replace SUCCEEDED from now on", "A later FAILED is then applied",
		"OPLEDGER_TERMINAL_TRANSITIONS=SUCCEEDED:FAILED")
	form := w.question(link(askPath, "do", "resolve", theKey, "batches/done"))
	form.Set("why", "SUCCEEDED is true")
	says(t, w.post(form).Body.String(), "the conflict of batches/done, SUCCEEDED and FAILED, resolved by ada at ",
		": SUCCEEDED is true")
	page := w.get(done).Body.String()
	says(t, page, "Other end", "FAILED was reported by webhook, and not applied: SUCCEEDED stands; resolved ",
		"by ada: SUCCEEDED is true")
	if strings.Contains(page, "It ended in two ways") || strings.Contains(page, "do=resolve") {
		t.Errorf("%s", page)
	}
	says(t, w.get("/").Body.String(), "no conflict waits for an operator")
	says(t, w.get("/console/operations?show=conflict").Body.String(), "No conflict waits for an operator.")
	w.event("batches/done", "m5", operation.Failed, operation.Reconcile)
	says(t, w.get("/").Body.String(), "no conflict waits for an operator")
	w.event("batches/done", "m6", operation.Cancelled, operation.Webhook)
	says(t, w.get("/").Body.String(), "1 operation that ended in two ways")
	says(t, w.get(done).Body.String(), "It ended in two ways", "CANCELLED was reported by webhook",
		"FAILED was resolved ", "by ada: SUCCEEDED is true")
}

// TestUnseenEnd: an end that arrived after the question was asked is not resolved with it [M5].
func TestUnseenEnd(t *testing.T) {
	t.Parallel()
	w := acting(t)
	form := w.question(link(askPath, "do", "resolve", theKey, "batches/done"))
	form.Set("why", "SUCCEEDED is true")
	w.event("batches/done", "m5", operation.Expired, operation.Webhook)
	answer := w.post(form)
	if answer.Code != http.StatusConflict {
		t.Errorf("%d", answer.Code)
	}
	says(t, answer.Body.String(), "Nothing was done.", "FAILED was reported by webhook on ", "when this was asked",
		"EXPIRED was reported by webhook on ")
	says(t, w.get("/").Body.String(), "1 operation that ended in two ways")
}

// TestConflictInDeliveriesAlone: where only the deliveries tell of another end, no text asks to say that
// it is dealt with, which is not offered.
func TestConflictInDeliveriesAlone(t *testing.T) {
	t.Parallel()
	alone := operation.Record{Key: "batches/done", State: operation.Succeeded}
	for _, text := range append(goneOutcome(alone).Then, trueEnd(alone)) {
		if strings.Contains(text, "resolve the conflict") || strings.Contains(text, "overview") {
			t.Errorf("%q", text)
		}
	}
}
