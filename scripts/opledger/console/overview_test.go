package console

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/job/progress"
	"github.com/opledger/opledger/shared/ledger"
)

// TestQuarantineTile: the tile counts what an operator has not resolved, beside all that is kept.
func TestQuarantineTile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unresolved, kept int
		want             tile
	}{
		{0, 0, tile{Number: "0", Sub: "every delivery could be read"}},
		{1, 3, tile{Number: "1", Sub: "3 kept", Tone: phrase.Warn}},
		{0, 3, tile{Number: "0", Sub: "3 kept"}},
	} {
		c.want.Label, c.want.Link = "unresolved in quarantine", overviewLinks[overview.AboutQuarantine]
		o := overview.Overview{Unread: overview.Unread{
			Total: ledger.Total{N: c.kept}, Unresolved: ledger.Total{N: c.unresolved},
		}}
		if all := tiles(o); !slices.Contains(all, c.want) {
			t.Errorf("%+v is not among %+v", c.want, all)
		}
	}
}

// TestOverviewSaysAll: the page has every problem and note of the rule set that status prints, in its order and in its
// words, each with a command or a playbook.
func TestOverviewSaysAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.fillJobs()
	w.console.options.Rules = []string{"tell"}
	w.console.options.Serve = func(context.Context) overview.Serve {
		return overview.Serve{State: overview.ServeNone, Unperformable: []overview.Unperformable{
			{Words: "the effect tell cannot be performed now: no topic", Playbook: "jobs"},
		}}
	}
	o, err := overview.Read(t.Context(), w.Ledger.Reading(), overview.Options{
		Interval: 5 * time.Minute, Most: 100, File: true, Rules: []string{"tell"}, StoreFlag: " --store sqlite:demo.db",
		Serve: w.console.serve(t.Context()),
	})
	w.do(err)
	about := map[string]bool{}
	var words []string
	for _, p := range append(o.Problems, o.Notes...) {
		about[p.About] = true
		words = append(words, phrase.Sentence(p.Words))
		if p.Command != "" {
			words = append(words, p.Command)
		}
		if p.Command == "" && p.Playbook == "" {
			t.Errorf("nothing says what to do: %+v", p)
		}
	}
	for _, must := range []string{
		overview.AboutUnknown, overview.AboutSettings, overview.AboutUnmatched, overview.AboutPause, overview.AboutFailing,
		overview.AboutServe,
	} {
		if !about[must] {
			t.Errorf("nothing about %s: %q", must, words)
		}
	}
	page := w.get("/").Body.String()
	page = page[:strings.Index(page, "<h2>Now</h2>")]
	says(t, page, words...)
}

// TestReceiverOfFailing: failing effects lead to those of their receiver alone.
func TestReceiverOfFailing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill()
	w.console.options.Receivers = map[string]string{"publish": hooks}
	w.register("batches/down", "nightly", "")
	w.event("batches/down", "down", "SUCCEEDED", "webhook")
	w.fails("batches/down", "https://hooks.example/x answered 503", time.Minute)
	const address = "/console/receivers?receiver=hooks.example"
	if page := w.get("/").Body.String(); !strings.Contains(page, `href="`+address+`"`) {
		t.Errorf("no link to %s: %s", address, page)
	}
	says(t, w.get(address).Body.String(), "Only what", hooks, "1 dead", "2 failing")
	other := w.get("/console/receivers?receiver=other.example").Body.String()
	if says(t, other, "No effect of other.example waits, fails or is dead."); strings.Contains(other, "1 dead") {
		t.Errorf("%s", other)
	}
}

// TestLateSaysWhy: the list of late operations says why each is late, by its last look-up.
func TestLateSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("batches/late", "nightly", "")
	_, err := w.Operations.RecordCondition(t.Context(), "batches/late", "unavailable")
	w.do(err)
	w.pass(30 * time.Hour)
	says(t, w.get(lateLink).Body.String(), "Waits because", "batches/late", "unavailable since")
}

// TestUnansweredShown: a pass to whose look-ups Gemini gives no answer is a problem, and its page says the error.
func TestUnansweredShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("batches/a", "nightly", "")
	lookups, err := w.Passes.Begin(t.Context(), time.Second)
	w.do(err)
	w.do(lookups.Report(t.Context(), ledger.Pass{
		Began: w.now, Ended: w.now, Outcome: ledger.PassDone, Checked: 1, Webhook: ledger.WebhookNone,
		Unanswered: &ledger.Unanswered{LookUps: 1, Reason: "unavailable", Error: "connection refused"},
	}))
	const said = "answered none of the last look-ups, 1 in all (unavailable): connection refused"
	says(t, w.get("/").Body.String(), said, "/console/playbook?key=unanswered",
		"opledger reconcile --store sqlite:demo.db")
	says(t, w.get("/console/passes").Body.String(), said)
}

// TestWrongSecretShown: that Gemini signs with another secret is a problem, before any delivery, and the webhook is
// not said to be well.
func TestWrongSecretShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lookups, err := w.Passes.Begin(t.Context(), time.Second)
	w.do(err)
	w.do(lookups.Report(t.Context(), ledger.Pass{
		Began: w.now, Ended: w.now, Outcome: ledger.PassDone, Webhook: ledger.WebhookEnabled,
		WrongSecret: &ledger.WrongSecret{Webhook: "w1", Shown: "whsec_...3frh"},
	}))
	says(t, w.get("/").Body.String(), "deliveries with whsec_...3frh, which the webhook does not know",
		"/console/playbook?key=wrong-secret", "opledger webhook check", "wrong secret")
	says(t, w.get("/console/passes").Body.String(), "it refuses each delivery: Gemini signs with whsec_...3frh",
		"It needs the variables of serve, such as GEMINI_API_KEY.")
}

// TestNoWebhookShown: that Gemini has no webhook is said, and is no problem.
func TestNoWebhookShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lookups, err := w.Passes.Begin(t.Context(), time.Second)
	w.do(err)
	w.do(lookups.Report(t.Context(), ledger.Pass{
		Began: w.now, Ended: w.now, Outcome: ledger.PassDone, Webhook: ledger.WebhookNone, NoWebhook: true,
	}))
	says(t, w.get("/").Body.String(), "Nothing needs an operator now.", "Gemini has none")
	says(t, w.get("/console/passes").Body.String(), "none: Gemini has none, and look-ups find every completion")
}

// TestUnmatchedShown: lines of results that no request asked for are said with their place, on the page of the job.
func TestUnmatchedShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fillJobs()
	says(t, w.get("/console/operation?key=jobs%2Fnightly").Body.String(), "Unmatched", "1 line of Gemini's results",
		"opledger results jobs/nightly --kind unmatched")
	says(t, w.get("/").Body.String(), "The job jobs/nightly has 1 line of Gemini's results",
		"opledger results jobs/nightly --kind unmatched --store sqlite:demo.db")
	v := newJobView(progress.Progress{
		Storage: "/data/jobs", Counts: job.Counts{Unmatched: 2},
		Output: job.Output{Unmatched: job.Object{Name: "x/unmatched.jsonl"}},
	}, "")
	if got := v.Unmatched(); !strings.HasSuffix(got, "they are in /data/jobs/x/unmatched.jsonl") {
		t.Errorf("%q", got)
	}
}

// TestPlaybookOfFile: the playbook of a ledger in a file has the commands for it, and names it; that of a deployment
// has all.
func TestPlaybookOfFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const address = "/console/playbook?key=overdue"
	if page := w.get(address).Body.String(); strings.Contains(page, "gcloud") {
		t.Errorf("%s", page)
	} else {
		path, err := filepath.Abs("demo.db")
		w.do(err)
		says(t, page, "export OPLEDGER_STORE=sqlite:"+path, "opledger status")
	}
	w.console.options.Location = config.Store{}
	says(t, w.get(address).Body.String(), "opledger environment", "gcloud logging read")
}
