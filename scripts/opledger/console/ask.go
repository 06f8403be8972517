package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/receivers"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// askPath is the path of the page that asks before an action, and of the answer to it.
const askPath = "/console/ask"

// A question is what ask.html shows: whether to do an action, or what became of it.
type question struct {
	Title, Back string // Back is the address of the subject's page
	Happens     []string
	Line        string
	Do, Key     string
	Effect      string
	Seen        string // what the question is about, as it was shown
	Number      string // of the question: the same form sent twice is one answer
	By, Why     string
	AsksWho     bool
	AsksWhy     bool
	Button      string
	Warning     string  // before all else; empty: none
	Done        outcome // what became of it; without Words nothing has been done
	Over        bool    // there is nothing more to ask
}

// The most letters of who decides and of why, as a browser counts them: in UTF-16.
const (
	mostBy  = 200
	mostWhy = 400
)

// MostBy is the bound of By for the form.
func (question) MostBy() int { return mostBy }

// MostWhy is the bound of Why for the form.
func (question) MostWhy() int { return mostWhy }

// letters counts a text as a browser does.
func letters(text string) int { return len(utf16.Encode([]rune(text))) }

// actionTime bounds an action, which the browser's leaving does not end.
const actionTime = time.Minute

// A stale error: the subject is no longer what the question was about.
type stale struct{ error }

func loadQuestion(c *Console, r *request) (any, error) {
	q, _, _, err := c.ask(r, r.query)
	return q.shown(), err
}

// shown is the question for its page; nil where there is none.
func (q question) shown() any {
	if q.Button == "" {
		return nil
	}
	return q
}

// ask returns the question about what a query or a form names, with its subject.
func (c *Console) ask(r *request, form url.Values) (question, action, subject, error) {
	a, found := find(form.Get("do"))
	if !found || !c.allows(a) {
		return question{}, a, subject{}, bad("do: %q is no action that this console can do", form.Get("do"))
	}
	s, back, err := c.subject(r, a, form.Get(theKey), form.Get("effect"))
	if err != nil {
		return question{}, a, s, err
	}
	q := question{
		Title: a.title(s), Back: back, Happens: a.happens, Line: a.line(s), Do: a.name, Key: form.Get(theKey),
		Effect: form.Get("effect"), Seen: s.Seen(), Number: actions.NewNonce(r.now), By: c.options.Actions.By, AsksWho: a.who,
		AsksWhy: a.why, Button: a.label,
	}
	if a.runs {
		if q.Warning, err = c.pauseWarning(r); err != nil {
			return q, a, s, err
		}
	}
	if a.each != nil && q.Warning != "" && !c.overrides() {
		q.Over, q.Title = true, "Not now"
		return q, a, s, stale{errors.New(q.Warning + " No receiver can be tried until then")}
	}
	if !a.can(s) {
		q.Over, q.Title = true, "Nothing to do"
		return q, a, s, stale{fmt.Errorf("it is %s now, so that there is nothing to do here", q.Seen)}
	}
	return q, a, s, nil
}

// pauseWarning says what becomes of an effect that is run again while effects are paused elsewhere.
func (c *Console) pauseWarning(r *request) (string, error) {
	by, err := c.pause(r)
	switch {
	case by == "":
		return "", err
	case c.overrides():
		return "Effects are paused (" + by + "). This process runs it all the same. It does not " +
			"keep the pause.", err
	default:
		return "Effects are paused (" + by + "). It runs when the pause ends.", err
	}
}

// overrides reports whether this process runs what an action starts, although effects are paused
// elsewhere.
func (c *Console) overrides() bool { return c.options.Actions != nil && c.options.Actions.Overrides }

// subject reads what an action is to be done to, and returns the address of its page.
func (c *Console) subject(r *request, a action, key, effect string) (subject, string, error) {
	s := subject{view: c.view(r)}
	switch a.about {
	case ofDelivery:
		delivery, _, err := c.ledger.Quarantine.Read(r, key)
		s.Delivery = &delivery
		return s, link("/console/quarantined", theKey, key), err
	case ofGroup:
		all, err := receivers.Read(r, c.ledger, receivers.Options{Hosts: c.options.Receivers, Troubled: true})
		group := all.Of(key, effect)
		s.Group = &group
		return s, receiversPath, err
	case ofIntent:
		intent, err := c.ledger.Intents.Read(r, key)
		s.Intent = &intent
		return s, "/console/intents", err
	case ofLeftOut:
		effect, err := c.ledger.Effects.FindLeftOut(r, key)
		s.LeftOut = &effect
		return s, leftOutLink(key), err
	case ofPause:
		by, err := c.pause(r)
		s.PausedBy = by
		return s, "/console/effects", err
	case ofOperation:
	}
	story, s, err := c.story(r, operation.Key(key), s.view)
	if err != nil {
		return s, "", err
	}
	back := link("/console/operation", theKey, key)
	if effect == "" {
		return s, back, nil
	}
	s.Effect.Name = effect
	if i := slices.IndexFunc(story.Effects, func(e ledger.Effect) bool { return e.Name == effect }); i >= 0 {
		s.Effect = story.Effects[i]
	} else if !s.withheld() {
		return s, back, fmt.Errorf("%s has no effect %q: %w", key, effect, ledger.ErrNotFound)
	}
	return s, back, nil
}

// answer does what was asked, once for each form.
func (c *Console) answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		c.write(w, c.asks(), http.StatusBadRequest, shown{Title: "Not done", Main: refused(fmt.Errorf("the form: %w", err))})
		return
	}
	form := r.PostForm
	number := form.Get("number")
	if ledger.CheckNonce(number) != nil {
		err := errors.New("number: the form has none that a question had; open the question again")
		c.write(w, c.asks(), http.StatusBadRequest, shown{Title: "Not done", Main: refused(err)})
		return
	}
	ctx := context.WithoutCancel(r.Context())
	got := c.answers.once(form.Encode(), func() answered { return c.act(ctx, form) })
	if got.location != "" {
		http.Redirect(w, r, got.location, http.StatusSeeOther)
		return
	}
	c.write(w, c.asks(), got.status, shown{Title: got.title, Main: got.main})
}

// refused is the page of a request that did nothing.
func refused(err error) main { return main{Heading: "Nothing was done.", Error: err.Error()} }

// act does what a form asks for, and returns the page that says what became of it.
func (c *Console) act(ctx context.Context, form url.Values) answered {
	ctx, cancel := context.WithTimeout(ctx, actionTime)
	defer cancel()
	now, err := c.ledger.Now(ctx)
	if err != nil {
		return answered{status: http.StatusServiceUnavailable, title: "Not done", main: refused(err)}
	}
	q, a, s, err := c.ask(&request{Context: ctx, now: now}, form)
	d := decision{Question: form.Get("number"), Decision: ledger.Decision{
		By: strings.TrimSpace(form.Get("by")), Why: strings.TrimSpace(form.Get("why")),
	}}
	q.By, q.Why = d.By, d.Why // the number is a new one: this question was answered
	switch {
	case err != nil:
	// A receiver that is down changes its numbers all the time, and the ledger guards each effect of a group.
	case a.about != ofGroup && q.Seen != form.Get("seen"):
		q.Over, q.Title = true, "Not done"
		err = stale{fmt.Errorf("it was %s when this was asked, and is %s now", form.Get("seen"), q.Seen)}
	case a.who && d.By == "":
		err = bad("say who decides; it is recorded")
	case a.why && d.Why == "":
		err = bad("give the reason; it is recorded")
	case letters(d.By) > mostBy || letters(d.Why) > mostWhy:
		err = bad("say who decides in %d letters at most, and why in %d", mostBy, mostWhy)
	case a.each != nil:
		return answered{location: c.runs.start(c.options.Actions, a, s, d, now)}
	default:
		q.Over, q.Title = true, "Not done"
		if q.Done, err = a.do(ctx, c.options.Actions, s, d); err == nil {
			q.Title = cmp.Or(q.Done.Title, "Done")
		}
	}
	m := main{Now: now, Data: q.shown()}
	if err == nil {
		return answered{status: http.StatusOK, title: q.Title, main: m}
	}
	m.Error, m.Heading = err.Error(), "Nothing was done."
	status := statusOf(err, http.StatusBadGateway)
	if status == http.StatusBadGateway {
		m.Heading = "It was not done, or not completed."
	}
	return answered{status: status, title: "Not done", main: m}
}

// statusOf returns the status of an answer with an error: other, where the request is not its cause.
func statusOf(err error, other int) int {
	switch {
	case errors.As(err, new(badRequest)), errors.Is(err, ledger.ErrMessage):
		return http.StatusBadRequest
	case errors.Is(err, ledger.ErrNotFound), errors.Is(err, ledger.ErrNoIntent), errors.Is(err, ledger.ErrNoJob),
		errors.Is(err, ledger.ErrNotLeftOut):
		return http.StatusNotFound
	case errors.As(err, new(stale)), errors.Is(err, ledger.ErrSettled), errors.Is(err, ledger.ErrNotDead),
		errors.Is(err, ledger.ErrUnregistered), errors.Is(err, ledger.ErrNoConflict),
		errors.Is(err, ledger.ErrEndsChanged), errors.Is(err, ledger.ErrReplay), errors.Is(err, ledger.ErrNotRunning),
		errors.Is(err, job.ErrNoRedrive), errors.Is(err, ledger.ErrStep), errors.Is(err, ledger.ErrPart),
		errors.Is(err, ledger.ErrJobPending):
		return http.StatusConflict
	default:
		return other
	}
}

// An answered is the page that an action ended with.
type answered struct {
	status int
	title  string
	main   main
	// location is the page that shows how far it is, which is answered in place of main.
	location string
}

// answers keeps the newest answers by their forms, each of which has the number of its question, so
// that a form which is sent twice, as by a double click, is acted on once and answered alike.
type answers struct {
	mu    sync.Mutex
	forms []string // the oldest first
	of    map[string]func() answered
}

// mostAnswers is how many are kept.
const mostAnswers = 200

// once returns the answer to a form, which do makes if there is none yet.
func (a *answers) once(form string, do func() answered) answered {
	a.mu.Lock()
	answer, asked := a.of[form]
	if !asked {
		answer = sync.OnceValue(do)
		if a.of == nil {
			a.of = map[string]func() answered{}
		}
		a.of[form], a.forms = answer, append(a.forms, form)
		if len(a.forms) > mostAnswers {
			delete(a.of, a.forms[0])
			a.forms = a.forms[1:]
		}
	}
	a.mu.Unlock()
	return answer()
}
