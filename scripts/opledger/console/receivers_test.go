package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/opledger/opledger/scripts/opledger/receivers"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
	"github.com/opledger/opledger/test/harness"
)

// hooks is where the effects of a group go.
const hooks = "hooks.example"

// A groupWorld is one whose workers try what is sent to them, and whose receiver accepts it or not. The errors of the
// filled world name no host, so its dead and its failing effect are of the one that the others name.
type groupWorld struct {
	*world
	mu    sync.Mutex
	down  error // nil: it accepts
	final bool  // what it refuses is refused for good
	tried int
}

func newGroupWorld(t *testing.T, dead int) *groupWorld {
	t.Helper()
	g := &groupWorld{world: acting(t)}
	given := g.console.options.Actions
	given.LookEvery = time.Millisecond
	replay := given.Send
	given.Send = func(ctx context.Context, m ledger.Message) error {
		if err := replay(ctx, m); err != nil {
			return err
		}
		return g.attemptAt(ctx, m.Operation)
	}
	for i := range dead {
		key := operation.Key(fmt.Sprintf("batches/at-%03d", i))
		g.register(key, "nightly", "")
		g.event(key, "end-"+string(key), operation.Succeeded, operation.Webhook)
		g.attempt(key, func(ctx context.Context, lease ledger.Lease) error {
			return g.Effects.MarkDead(ctx, lease, errors.New("https://"+hooks+" answered 503"))
		})
	}
	return g
}

// attemptAt is one attempt of a worker.
func (g *groupWorld) attemptAt(ctx context.Context, key operation.Key) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	grant, err := g.Effects.Claim(ctx, key, "publish")
	if err != nil || grant.Verdict != ledger.Claimed {
		return err
	}
	g.tried++
	switch {
	case g.down == nil:
		return g.Effects.Finish(ctx, grant.Lease)
	case g.final:
		return g.Effects.MarkDead(ctx, grant.Lease, g.down)
	}
	_, err = g.Effects.Release(ctx, grant.Lease, g.down, time.Hour)
	return err
}

func (g *groupWorld) receiver(down error, final bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down, g.final, g.tried = down, final, 0
}

// act answers the question of an action on the group, and returns the page of its run once that is over.
func (g *groupWorld) act(do string) string {
	g.Helper()
	form := g.question(link(askPath, "do", do, theKey, hooks, "effect", "publish"))
	form.Set("why", "done by hand")
	answer := g.post(form)
	if answer.Code != http.StatusSeeOther {
		g.Fatalf("%s: %d %s", do, answer.Code, answer.Body)
	}
	if again := g.post(form); again.Header().Get("Location") != answer.Header().Get("Location") {
		g.Errorf("the same form again: %d, to %s", again.Code, again.Header().Get("Location"))
	}
	var page string
	g.until(func() bool {
		page = g.get(answer.Header().Get("Location")).Body.String()
		return strings.Contains(page, "Ended: ") || strings.Contains(page, "Stopped after ")
	})
	return page
}

// TestGroupActions: a receiver that is down is tried with one effect, and one that refuses for good with
// three; what waits is tried now; when it accepts, all are done; waiving ends what is left.
func TestGroupActions(t *testing.T) {
	t.Parallel()
	g := newGroupWorld(t, 30)
	says(t, g.get(receiversPath).Body.String(), hooks, "publish", "31 dead", "1 failing", "Failing since",
		"hooks.example answered 503",
		"within 1h", "Run them again", "opledger replay --receiver hooks.example --effect publish --store", "Waive them")
	says(t, g.get(link(askPath, "do", replayGroup, theKey, hooks, "effect", "publish")).Body.String(),
		"Run 31 dead effects of publish at hooks.example again?", "31 dead, 1 backing off", "One is tried first.")

	g.receiver(errors.New("https://"+hooks+" answered 503"), false)
	says(t, g.act(replayGroup), "Run 31 dead effects of publish at hooks.example again · opledger",
		"Stopped after 1 of 31", "The receiver still refuses: publish of batches/dead",
		"answered 503", "backing off")
	if g.tried != 1 {
		t.Errorf("a receiver that is down was tried %d times", g.tried)
	}
	g.receiver(errors.New("https://"+hooks+" answered 410"), true)
	says(t, g.act(replayGroup), "Stopped after 3 of 30", "The receiver still refuses", "dead")
	if g.tried != 3 {
		t.Errorf("a receiver that refuses was tried %d times", g.tried)
	}
	g.receiver(nil, false)
	page := g.get(receiversPath).Body.String()
	if says(t, page, "30 dead", "2 failing", "Try them now"); strings.Contains(page, "--now") {
		t.Error("its command would run the dead effects, too")
	}
	says(t, g.act(nowGroup), "Ended: 2 of 2 are done")
	says(t, g.act(replayGroup), "Ended: 30 of 30 are done")
	if g.tried != 32 {
		t.Errorf("%d attempts", g.tried)
	}
	if page := g.get(receiversPath).Body.String(); strings.Contains(page, hooks) {
		t.Errorf("a receiver that gets what it should: %s", page)
	}
}

// TestGroupWaived: dead effects of a receiver are waived at once, with who and why.
func TestGroupWaived(t *testing.T) {
	t.Parallel()
	g := newGroupWorld(t, 4)
	says(t, g.act(waiveGroup), "Ended: 5 of 5 are done")
	story, err := g.Operations.Show(t.Context(), "batches/at-003")
	g.do(err)
	if e := story.Effects[0]; e.Abandoned == nil || e.Abandoned.By != "ada" || e.Abandoned.Why != "done by hand" {
		t.Errorf("%+v", e.Abandoned)
	}
}

// TestGroupLine: no flag chooses the effects whose receiver is not known, so that no command is shown for them.
func TestGroupLine(t *testing.T) {
	t.Parallel()
	group := receivers.Group{Effect: "publish", Failing: make([]ledger.Effect, 1)}
	for receiver, want := range map[string][]string{
		"": {"", "", ""}, "a.example": {
			"opledger replay --receiver a.example --effect publish",
			"opledger replay --receiver a.example --effect publish --now",
			"opledger waive --receiver a.example --effect publish --reason 'WHY'",
		},
	} {
		group.Receiver = receiver
		for i, a := range groupActions {
			if got := a.line(subject{Group: &group}); got != want[i] {
				t.Errorf("%s of %q: %q, want %q", a.name, receiver, got, want[i])
			}
		}
	}
}

// TestGroupInterrupted: of an effect that was asked for, and whose outcome is not known, that is said.
func TestGroupInterrupted(t *testing.T) {
	t.Parallel()
	g := newGroupWorld(t, 2)
	g.console.options.Actions.Send = func(context.Context, ledger.Message) error { return errors.New("no answer") }
	says(t, g.act(replayGroup), "Stopped after 0 of 3", "no answer", "Outcome not known", "1",
		"Not tried", "2")
}

// TestGroupBegins: the page of a run of which no effect was asked for yet says so, and names no number of none.
func TestGroupBegins(t *testing.T) {
	t.Parallel()
	g := newGroupWorld(t, 2)
	asked := make(chan struct{})
	g.console.options.Actions.Send = func(context.Context, ledger.Message) error {
		<-asked
		return errors.New("no answer")
	}
	answer := g.post(g.question(link(askPath, "do", replayGroup, theKey, hooks, "effect", "publish")))
	page := g.get(answer.Header().Get("Location")).Body.String()
	close(asked)
	if says(t, page, "It begins: none was tried yet"); strings.Contains(page, "0 of 0") || strings.Contains(page, "max=") {
		t.Errorf("%s", page)
	}
}

// TestGroupChanged: a group is acted on as it is when the form is sent, and not where nothing is left to do; in a
// pause that this process keeps nothing is asked, because no receiver can be tried; a run that is not known is said
// to be none.
func TestGroupChanged(t *testing.T) {
	t.Parallel()
	g := newGroupWorld(t, 2)
	address := link(askPath, "do", replayGroup, theKey, hooks, "effect", "publish")
	form := g.question(address)
	g.post(g.question(link(askPath, "do", "replay", theKey, "batches/at-000", "effect", "publish")))
	late := g.question(address)
	g.until(func() bool {
		return strings.Contains(g.get(g.post(form).Header().Get("Location")).Body.String(), "Ended: 2 of 2 are done")
	})
	if answer := g.post(late); answer.Code != http.StatusConflict ||
		!strings.Contains(answer.Body.String(), "it is 0 dead, 0 backing off now, so that there is nothing to do here") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	g.console.options.Actions.Overrides = false
	if answer := g.get(address); answer.Code != http.StatusConflict ||
		!strings.Contains(answer.Body.String(), "No receiver can be tried until then") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if answer := g.get(runPath + "?key=none"); answer.Code != http.StatusBadRequest ||
		!strings.Contains(answer.Body.String(), "this process knows no such run") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// TestBrowserReceivers: the pages of receivers and of a run fit, and are accessible; an operator ends the dead
// effects of one receiver from the page, and sees it done.
func TestBrowserReceivers(t *testing.T) {
	t.Parallel()
	g := newGroupWorld(t, 12)
	b := newBrowser(g.world, g.console)
	if harness.Thorough(t) { // else one of both pages is tested, that of the run
		b.fits(receiversPath)
	}
	b.do(chromedp.Navigate(b.server+receiversPath), chromedp.WaitVisible(chromedp.CSS(".receiver")))
	b.do(chromedp.Click(chromedp.CSS(`a[href*="do=replay-group"][href*="hooks.example"]`)))
	b.shows("Run 13 dead effects of publish at hooks.example again?")
	b.do(chromedp.Click(chromedp.CSS(`form.question button`)))
	b.shows("Ended: 13 of 13 are done")
	b.quiet("a group")
	b.fits(value[string](b, "location.pathname + location.search"))
}
