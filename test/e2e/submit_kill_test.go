package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opledger/opledger/shared/gemini/geminisim"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// TestSubmitterKilled: a submitter is killed with SIGKILL at every step of submitting. What it
// submitted ends registered, settled and with its effect done once; where it submitted nothing,
// nothing runs, and its intent is given up [G6, K6, S3].
func TestSubmitterKilled(t *testing.T) {
	t.Parallel()
	// No pass asks Gemini anything: the event's user metadata alone binds the intent.
	t.Run("and the webhook delivered", func(t *testing.T) {
		t.Parallel()
		f := newSubmitFleet(t, "--schedule=false")
		f.killSubmitters(submissions(f, steps, steps), geminisim.Faults{})
	})
	// No event arrives: discovery finds batches in Gemini's list; videos and interactions cannot be
	// listed, and are only found once they are registered.
	t.Run("and the webhook lost", func(t *testing.T) {
		t.Parallel()
		f := newSubmitFleet(t)
		f.killSubmitters(
			submissions(f, steps, []string{beforeIntent, afterIntent, beforeCreate, afterRegister}),
			geminisim.Faults{Lost: 1})
		f.within(patience, "every intent is bound or given up", func() bool { return len(f.openIntents()) == 0 })
		// Three kinds, killed after the intent and before the creation. An intent is given up before that
		// is logged, so the lines are waited for.
		f.within(patience, "6 intents are logged as given up", func() bool { return f.abandoned() >= 6 })
		if n := f.abandoned(); n != 6 {
			t.Errorf("%d intents were given up, want 6", n)
		}
	})
}

// newSubmitFleet is one instance, to whose webhook Gemini delivers every kind of success.
func newSubmitFleet(t *testing.T, args ...string) *fleet {
	f := newFleet(t, inFile(t), 1, geminisim.Config{Seed: 5, Speed: 200})
	var hook struct {
		Secret string `json:"new_signing_secret"`
	}
	err := f.askGemini("/v1beta/webhooks", fmt.Sprintf(
		`{"uri":%q,"subscribed_events":["video.generated","interaction.completed"]}`, f.front.URL+"/webhook"), &hook)
	if err != nil {
		t.Fatal(err)
	}
	f.secret += " " + hook.Secret
	f.args = args
	f.settings = []string{"OPLEDGER_STUCK_AFTER=" + intentsGivenUpAfter.String()}
	f.start()
	f.within(patience, "the instance is ready", func() bool { return f.instances[0].process().url() != "" })
	return f
}

// submissions are batches killed at these steps, and videos and interactions killed at those.
func submissions(f *fleet, batches, others []string) (all []submission) {
	store := strings.TrimPrefix(f.backend.variables[0], "OPLEDGER_STORE=sqlite:")
	for kind, steps := range map[string][]string{"batch": batches, "video": others, "interaction": others} {
		for i, step := range steps {
			all = append(all, submission{
				kind: kind, step: step, store: store, gemini: f.gemini.URL, correlation: fmt.Sprintf("%s-%d", kind, i),
			})
		}
	}
	return all
}

// killSubmitters starts the submitters, kills each at its step, lets what they submitted succeed,
// and holds the ledger and the receiver against that.
func (f *fleet) killSubmitters(all []submission, faults geminisim.Faults) {
	t := f.t
	var group errgroup.Group
	group.SetLimit(3)
	for _, s := range all {
		running, success := s.success()
		f.sim.Script(s.label(), geminisim.Script{Hold: running, Faults: &faults})
		group.Go(func() error {
			p, err := startSubmitter(t, s)
			if err != nil {
				return err
			}
			select {
			case <-p.ready:
			case <-p.done:
				return fmt.Errorf("the submitter of %s ended before it was %s: %v\n%s", s.correlation, s.step,
					p.err, p.tail())
			case <-time.After(patience):
				p.kill()
				return fmt.Errorf("the submitter of %s never was %s", s.correlation, s.step)
			}
			p.kill()
			if truth := s.truth(f.sim); len(truth) == 1 {
				return f.sim.SetState(truth[0].Name, success)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	want := map[string]submission{} // by idempotency key
	for _, s := range all {
		truth := s.truth(f.sim)
		if submitted := slices.Index(steps, s.step) >= slices.Index(steps, beforeAnswer); len(truth) > 1 ||
			(len(truth) == 1) != submitted {
			t.Errorf("%s, killed %s: Gemini has %+v", s.correlation, s.step, truth)
		}
		for _, job := range truth {
			name, err := operation.ParseName(job.Name, "")
			if err != nil {
				t.Fatal(err)
			}
			want[operation.IdempotencyKey(name.Key, "publish")] = s
		}
	}
	f.within(patience, "every effect is done",
		func() bool { return len(f.receiver.keys()) >= len(want) && f.allClosed(len(want)) })
	if got := f.receiver.keys(); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("the effects that ran are %v, want %v", got, want)
	}
	for key, s := range want {
		f.checkSubmitted(operation.Key(operationOf(key)), s)
	}
	problems, repeats, _ := f.receiver.audit()
	if len(problems) > 0 || repeats > 0 {
		t.Errorf("%d effects were repeated; %v", repeats, problems)
	}
}

// checkSubmitted checks the record of what a submission submitted, and that it has one effect, done
// at the first attempt.
func (f *fleet) checkSubmitted(key operation.Key, s submission) {
	f.t.Helper()
	story, err := f.ledger().Operations.Show(f.t.Context(), key)
	if err != nil {
		f.t.Error(err)
		return
	}
	r := story.Record
	if !r.Registered || r.State != operation.Succeeded || r.CorrelationID != s.correlation || r.JobKind != "e2e" {
		f.t.Errorf("%s, killed %s: %+v", s.correlation, s.step, r)
	}
	if e := story.Effects; len(e) != 1 || e[0].State != ledger.EffectDone || e[0].Attempts != 1 {
		f.t.Errorf("%s, killed %s: the effects are %+v", s.correlation, s.step, e)
	}
}

// allClosed reports whether n operations are registered, and all that are have ended with their effects done.
func (f *fleet) allClosed(n int) bool {
	registered := 0
	page, err := f.ledger().Operations.List(f.t.Context(), ledger.Filter{Limit: 500})
	if err != nil {
		f.t.Fatal(err)
	}
	for _, r := range page.Items {
		if r.Registered && r.Closed() {
			registered++
		}
	}
	return registered == n
}

// abandoned is how many intents the instance has logged as given up.
func (f *fleet) abandoned() (n int) {
	for _, line := range f.instances[0].process().lines() {
		if line.Event == "intent" && line.Outcome == "abandoned" {
			n++
		}
	}
	return n
}

func (f *fleet) openIntents() (ids []string) {
	page, err := f.ledger().Intents.Waiting(f.t.Context(), ledger.Cursor{}, 500)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, item := range page.Items {
		if item.Intent.State == ledger.IntentOpen { // what was given up is only searched for
			ids = append(ids, item.Intent.CorrelationID)
		}
	}
	return ids
}
