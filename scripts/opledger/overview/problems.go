package overview

import (
	"fmt"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// What a Problem is about.
const (
	AboutPasses     = "passes"
	AboutWebhook    = "webhook"
	AboutConflicts  = "conflicts"
	AboutDead       = "dead effects"
	AboutEffects    = "effects"
	AboutPause      = "pause"
	AboutPending    = "pending operations"
	AboutQuarantine = "quarantine"
	AboutIntents    = "intents"
	AboutDocuments  = "documents"

	AboutFailing      = "failing effects"
	AboutLate         = "late operations"
	AboutUnregistered = "unregistered operations"
	AboutJobs         = "jobs"
)

// A Problem needs an operator.
type Problem struct {
	About   string `json:"about"` // one of the above
	Words   string `json:"problem"`
	Command string `json:"command"` // that shows more of it
	// Playbook says what to do: its name in infra/playbooks.
	Playbook string `json:"playbook,omitempty"`
	// Operation is the one that the problem is about; empty: several, or none.
	Operation operation.Key `json:"operation,omitempty"`
}

// playbooks are those of what a Problem is about, where not the problem itself decides.
var playbooks = map[string]string{
	AboutConflicts: "conflicts", AboutDead: "effects-dead", AboutEffects: "overdue", AboutPause: "overdue",
	AboutPending: "overdue", AboutQuarantine: "quarantined", AboutIntents: "unbound", AboutDocuments: "newer",
	AboutFailing: "effects-failing-long", AboutLate: "stuck", AboutUnregistered: "unmatched",
	AboutPasses: "reconcile-absent", AboutWebhook: "webhook-disabled", AboutJobs: "jobs",
}

// An adder adds a problem, if it is one.
type adder func(is bool, about, command, format string, args ...any)

// judge fills in the Problems.
func (o *Overview) judge(options Options) {
	interval := options.Interval
	overdue := ledger.Settings{Interval: interval}.OverdueAfter()
	o.Problems = []Problem{}
	var add adder = func(is bool, about, command, format string, args ...any) {
		if is {
			o.Problems = append(o.Problems, Problem{About: about, Words: fmt.Sprintf(format, args...),
				Command: "opledger " + command, Playbook: playbooks[about]})
			if about != AboutWebhook { // whose command reads no ledger
				o.Problems[len(o.Problems)-1].Command += options.StoreFlag
			}
		}
	}
	late := func(since time.Time) bool { return !since.IsZero() && o.At.Sub(since) >= overdue }
	add(o.Dead.N > 0, AboutDead, "list --dead", "%s with a dead effect", plural(o.Dead.Total, "operation"))
	for _, stopped := range o.Jobs.Stopped {
		add(true, AboutJobs, show(stopped.Key), "the job %s goes no further: %s", phrase.Safe(string(stopped.Key)),
			stopped.Why)
		o.Problems[len(o.Problems)-1].Operation = stopped.Key
	}
	o.judgeEffects(late, add)
	o.judgePass(interval, add)
	o.judgeRefused(add)
	add(late(o.Pending.DueSince), AboutPending, "list --pending", "a look-up is due for %s: do the scheduled passes run?",
		o.since(o.Pending.DueSince))
	add(o.Pending.Late.N > 0, AboutLate, "list --late", "%s", o.lateWords())
	if n := o.Pending.Late.N; n > 0 && o.Pending.Missing == n {
		o.instead("missing")
	}
	add(o.Conflicts.N > 0, AboutConflicts, "list --conflict", "%s that ended in two ways within the last week",
		plural(o.Conflicts.Total, "operation"))
	add(o.Unregistered.Long.N > 0, AboutUnregistered, "list --unregistered",
		"%s that an event reported, and that is not registered: no effect runs",
		plural(o.Unregistered.Long, "operation"))
	add(o.Unread.Unresolved.N > 0, AboutQuarantine, "quarantine list --unresolved", "%s that could not be read",
		plural(o.Unread.Unresolved, "signed request"))
	add(o.Intents.Abandoned > 0, AboutIntents, "intent list", "%s given up: no operation was found",
		atLeast(o.Intents.more, o.Intents.Abandoned, "intent"))
	add(len(o.Broken) > 0, AboutDocuments, "list", "%s that cannot be read", phrase.Counted(len(o.Broken), "document"))
}

// instead names another playbook than the usual one for the problem that was just added.
func (o *Overview) instead(playbook string) { o.Problems[len(o.Problems)-1].Playbook = playbook }

// judgeEffects adds what an operator must do about effects that wait: nothing in a planned pause that is
// short, as in any short wait.
func (o *Overview) judgeEffects(late func(time.Time) bool, add adder) {
	first, since := show(o.Effects.First), o.Effects.ClaimableSince
	waits := o.since(since)
	add(o.Paused && late(since), AboutPause, first,
		"effects are paused, and the first of %s has waited for %s: end the pause once you can", o.Effects.Open, waits)
	add(!o.Paused && late(since), AboutEffects, first,
		"effects could have been run for %s: do their workers and the scheduled passes run?", waits)
	long := o.Effects.Long
	add(long.N > 0, AboutFailing, show(long.Operation), "%s failing for %s: %s", plural(long.Total, "effect"),
		o.since(long.Since), phrase.Readable(long.Error))
}

// show is the command that shows an operation; of one that is not known the list.
func show(key operation.Key) string {
	if key == "" {
		return "list"
	}
	return "show " + phrase.ShellWord(string(key))
}

// since says how long ago t was.
func (o *Overview) since(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return phrase.Span(o.At.Sub(t))
}

// lateWords say how many operations are late, the oldest for how long, and how many of them Gemini does
// not know.
func (o *Overview) lateWords() string {
	late, missing, age := o.Pending.Late, o.Pending.Missing, o.since(o.Pending.SubmittedAt)
	if missing == late.N {
		return plural(late, "pending operation") + " that Gemini does not know, the oldest for " + age
	}
	words := plural(late, "operation") + " pending for too long, the oldest for " + age
	switch {
	case missing == 0:
		return words
	case o.Pending.more:
		return fmt.Sprintf("%s; Gemini does not know at least %d of them", words, missing)
	default:
		return fmt.Sprintf("%s; Gemini does not know %d of them", words, missing)
	}
}

func plural(t ledger.Total, thing string) string {
	if t.N != 1 {
		thing += "s"
	}
	return t.String() + " " + thing
}

// atLeast counts what was read, of more or of all.
func atLeast(more bool, n int, thing string) string {
	words := phrase.Counted(n, thing)
	if more {
		words = "at least " + words
	}
	return words
}
