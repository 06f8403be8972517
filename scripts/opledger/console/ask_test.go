package console

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// acting is a filled world whose console acts. Its workers apply a message and make no attempt.
func acting(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.fill()
	w.fillJobs()
	w.leaveOut()
	options := w.console.options
	options.Actions = &actions.Actions{
		Ledger: w.Ledger, By: "ada", Overrides: true, Send: func(ctx context.Context, m ledger.Message) error {
			_, err := w.Effects.Replay(ctx, m)
			return err
		},
		One: func(ctx context.Context, key operation.Key) (lookup.Answer, ledger.Receipt, error) {
			if key == "batches/missing" || key == "batches/done" {
				return lookup.Answer{Reason: lookup.NotFound, Err: errors.New("404")}, ledger.Receipt{}, nil
			}
			answer := lookup.Answer{State: operation.Running, UpdateTime: w.now}
			receipt, err := w.Operations.Ingest(ctx, answer.Event(operation.Name{Key: key, Resource: string(key)}))
			return answer, receipt, err
		},
		AskToCancel: func(context.Context, operation.Name) error { return nil },
		EndPause: func(ctx context.Context, d ledger.Decision) (bool, error) {
			return d.By == "ada" && d.Why != "", w.Passes.StorePause(ctx, ledger.EffectsRunning)
		},
	}
	w.console = New(options)
	t.Cleanup(w.console.Close)
	return w
}

// post sends a form to the console.
func (w *world) post(form url.Values) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(w.Context(), "POST", askPath, strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	recorder := httptest.NewRecorder()
	w.console.ServeHTTP(recorder, request)
	return recorder
}

var input = regexp.MustCompile(`<input (?:type="hidden" )?name="([^"]*)" value="([^"]*)"`)

// question returns the form of the page that asks.
func (w *world) question(address string) url.Values {
	w.Helper()
	answer, form := w.get(address), url.Values{}
	if answer.Code != http.StatusOK {
		w.Fatalf("%s: %d %s", address, answer.Code, answer.Body)
	}
	for _, found := range input.FindAllStringSubmatch(answer.Body.String(), -1) {
		if found[1] != "q" {
			form.Set(found[1], html.UnescapeString(found[2]))
		}
	}
	return form
}

// An asked is an action, the page that offers it, and what its answer says.
type asked struct{ do, page, key, effect, says string }

var everyAction = []asked{
	{"lookup", "/console/operation?key=batches%2Frunning", "batches/running", "", "batches/running is RUNNING at Gemini"},
	{"abandon", "/console/operation?key=batches%2Fmissing", "batches/missing", "", "abandoned by ada at "},
	{"replay", "/console/operation?key=batches%2Fdead", "batches/dead", "publish", "was started by this process"},
	{"rerun", "/console/operation?key=batches%2Fdone", "batches/done", "publish", "was started by this process"},
	{"waive", "/console/operation?key=batches%2Fdead", "batches/dead", "publish", "waived by ada at "},
	{"resolve", "/console/operation?key=batches%2Fdone", "batches/done", "",
		"the conflict of batches/done, SUCCEEDED and FAILED, resolved by ada at "},
	{"resolve-unregistered", "/console/operation?key=batches%2Fstranger", "batches/stranger", "",
		"batches/stranger, which is not registered, resolved by ada at "},
	{"resolve-delivery", "/console/quarantined?key=msg_bad", "msg_bad", "", "the delivery msg_bad resolved by ada at "},
	{"retry", "/console/quarantined?key=msg_bad", "msg_bad", "", "this revision cannot read it either"},
	{"abandon-intent", "/console/intent?key=night-2", "night-2", "", "intent night-2 abandoned by ada at "},
	{"forget-intent", "/console/intent?key=night-2", "night-2", "", "the intent night-2 is deleted"},
	{"cancel", "/console/operation?key=batches%2Frunning", "batches/running", "",
		"the cancellation of batches/running requested by ada at "},
	{cancelJob, "/console/operation?key=jobs%2Fnightly", "jobs/nightly", "",
		"the cancellation of jobs/nightly requested by ada at "},
	{pauseJob, "/console/operation?key=jobs%2Fnightly", "jobs/nightly", "", "jobs/nightly paused by ada at "},
	{release, "/console/operation?key=jobs%2Fnightly%2F00002", "jobs/nightly/00002", "",
		"jobs/nightly/00002 released by ada at "},
	{endPause, "/console/effects", "", "", "The pause has ended"},
	{resolveLeftOut, "/console/operations?without=archive", "archive", "",
		"that the effect archive is left out resolved by ada at "},
}

func (a asked) address() string {
	return link(askPath, "do", a.do, theKey, a.key, "effect", a.effect)
}

// TestActions: the page of its subject offers each action; the question says what will happen, who is
// recorded and the command; the answer says what became of it. The same form once more has the same
// answer, and does nothing.
func TestActions(t *testing.T) {
	t.Parallel()
	for _, a := range everyAction {
		t.Run(a.do, func(t *testing.T) {
			t.Parallel()
			w := acting(t)
			if page := w.get(a.page).Body.String(); !strings.Contains(page, html.EscapeString(a.address())) {
				t.Errorf("%s does not offer %s: %s", a.page, a.address(), page)
			}
			row, _ := find(a.do)
			page := w.get(a.address()).Body.String()
			for _, words := range append([]string{"What will happen", "opledger ", row.label}, row.happens...) {
				if !strings.Contains(page, html.EscapeString(words)) {
					t.Errorf("the question does not say %q: %s", words, page)
				}
			}
			if row.runs != strings.Contains(page, "This process runs it all the same") {
				t.Errorf("of the pause that the last pass saw: %s", page)
			}
			form := w.question(a.address())
			if row.who != (form.Get("by") == "ada") {
				t.Errorf("who decides: %q", form)
			}
			if row.why {
				if answer := w.post(form); answer.Code != http.StatusBadRequest ||
					!strings.Contains(answer.Body.String(), "give the reason; it is recorded") {
					t.Errorf("without a reason: %d %s", answer.Code, answer.Body)
				}
				form = w.question(a.address())
				form.Set("why", "submitted <twice>")
			}
			first := w.post(form)
			before := w.state(a)
			if body := first.Body.String(); !strings.Contains(body, a.says) || strings.Contains(body, "<twice>") {
				t.Errorf("%d %s", first.Code, body)
			}
			if second := w.post(form); second.Code != first.Code || second.Body.String() != first.Body.String() {
				t.Errorf("the same form again: %d %s", second.Code, second.Body)
			}
			if after := w.state(a); after != before {
				t.Errorf("the same form again made of %s %s", before, after)
			}
		})
	}
}

// state is all that the ledger has about the subject of an action.
func (w *world) state(a asked) string {
	w.Helper()
	if strings.HasPrefix(a.page, "/console/quarantined") {
		q, _, err := w.Quarantine.Read(w.Context(), a.key)
		w.do(err)
		return fmt.Sprint(q.RetriedAt, q.Resolved != nil)
	}
	if strings.HasPrefix(a.page, "/console/intent") {
		intent, err := w.Intents.Read(w.Context(), a.key)
		return fmt.Sprint(intent.State, intent.Abandoned, err)
	}
	if a.do == resolveLeftOut {
		effect, err := w.Effects.FindLeftOut(w.Context(), a.key)
		w.do(err)
		return fmt.Sprint(*effect.Resolved)
	}
	if a.do == endPause {
		last, _, err := w.Passes.Last(w.Context())
		w.do(err)
		return string(last.Effects)
	}
	story, err := w.Operations.Show(w.Context(), operation.Key(a.key))
	w.do(err)
	text, err := indented(story)
	w.do(err)
	return text
}

// TestEndPauseOfNone: where serve is not paused, the answer says what else says that effects are.
func TestEndPauseOfNone(t *testing.T) {
	t.Parallel()
	w := acting(t)
	w.console.options.Actions.EndPause = func(context.Context, ledger.Decision) (bool, error) { return false, nil }
	form := w.question(asked{do: endPause}.address())
	form.Set("why", "it is back")
	says(t, w.post(form).Body.String(), "serve is not paused: it performs what is due.",
		"Unset OPLEDGER_EFFECTS_PAUSED where this console is started")
}

// TestDoubleClick: of forms sent at once one is acted on, and all have its answer.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	w := acting(t)
	form := w.question(everyAction[3].address()) // each rerun would be another run
	var all sync.WaitGroup
	bodies := make([]string, 8)
	for i := range bodies {
		all.Go(func() { bodies[i] = w.post(form).Body.String() })
	}
	all.Wait()
	for _, body := range bodies {
		if body != bodies[0] || !strings.Contains(body, "was started") {
			t.Errorf("%s", body)
		}
	}
	story, err := w.Operations.Show(t.Context(), "batches/done")
	w.do(err)
	if len(story.Effects) != 2 {
		t.Errorf("%d effects: %+v", len(story.Effects), story.Effects)
	}
}

// TestStale: a question about what has changed since is not acted on, and says how it was and is.
func TestStale(t *testing.T) {
	t.Parallel()
	w := acting(t)
	waive, rerun := w.question(everyAction[4].address()), w.question(everyAction[3].address())
	again := w.question(everyAction[3].address())
	if answer := w.post(w.question(everyAction[2].address())); answer.Code != http.StatusOK {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	waive.Set("why", "too late")
	w.post(rerun)
	for says, form := range map[string]url.Values{
		"it is PENDING, after 1 claim and 0 reruns now, so that there is nothing to do here":                        waive,
		"it was DONE, after 3 claims and 0 reruns when this was asked, and is DONE, after 3 claims and 1 rerun now": again,
	} {
		if answer := w.post(form); answer.Code != http.StatusConflict || !strings.Contains(answer.Body.String(), says) ||
			!strings.Contains(answer.Body.String(), "Nothing was done.") {
			t.Errorf("%d, without %q: %s", answer.Code, says, answer.Body)
		}
	}
}

// TestWrongForms: a form that no question had is refused, and says why.
func TestWrongForms(t *testing.T) {
	t.Parallel()
	w := acting(t)
	good := w.question(everyAction[2].address())
	with := func(name, value string) url.Values {
		form := url.Values{}
		for key, values := range good {
			form[key] = values
		}
		form.Set(name, value)
		return form
	}
	for _, c := range []struct {
		form url.Values
		code int
		says string
	}{
		{with("number", ""), 400, "open the question again"}, {with("number", "a b"), 400, "open the question again"},
		{with("do", "forget"), 400, "is no action that this console can do"},
		{with("do", "register"), 400, "is no action that this console can do"},
		{with("key", "batches/no"), 404, "the ledger has no such operation"},
		{with("effect", "no"), 404, "has no effect"}, {with("by", " "), 400, "say who decides"},
		{with("do", "abandon"), 404, ""}, {url.Values{"x": {strings.Repeat("x", 70<<10)}}, 400, "too large"},
	} {
		if c.form.Get("do") == "abandon" { // of a settled operation
			c.form.Set("effect", "")
			c.code, c.says = 409, "it is SUCCEEDED now, so that there is nothing to do here"
		}
		if answer := w.post(c.form); answer.Code != c.code || !strings.Contains(answer.Body.String(), c.says) {
			t.Errorf("%q: %d, want %d with %q: %s", c.form, answer.Code, c.code, c.says, answer.Body)
		}
	}
	story, err := w.Operations.Show(t.Context(), "batches/dead")
	w.do(err)
	if e := story.Effects[0]; e.State != ledger.EffectDead || len(e.Replays) > 0 {
		t.Errorf("something was done: %+v", e)
	}
}

// TestReadOnly: a console without actions has no question and no answer, names only commands, and is
// handed nothing that can write [G7].
func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.fillJobs()
	w.leaveOut()
	for _, a := range everyAction {
		if answer := w.get(a.address()); answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d", a.address(), answer.Code)
		}
		if answer := w.post(url.Values{"do": {a.do}, "key": {a.key}, "effect": {a.effect}, "number": {"n"}}); answer.Code !=
			http.StatusNotFound {
			t.Errorf("%s is answered %d", a.do, answer.Code)
		}
		if page := w.get(a.page).Body.String(); strings.Contains(page, askPath) || !strings.Contains(page, "opledger ") {
			t.Errorf("%s: %s", a.page, page)
		}
	}
	for _, part := range []any{w.console.options.Ledger, w.console.ledger} {
		if _, only := part.(ledger.Reading); !only {
			t.Errorf("a console that only reads is handed a %T", part)
		}
	}
}
