package overview

import (
	"cmp"
	"fmt"
	"time"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/gemini/lookup"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// What a Problem is about.
const (
	AboutServe      = "serve"
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
	AboutSettings     = "settings"
	AboutGemini       = "Gemini"
	AboutUnknown      = "effects without a rule"
	AboutUnmatched    = "unmatched results"
	AboutLeftOut      = "effects left out"
)

// A Problem needs an operator.
type Problem struct {
	About   string `json:"about"` // one of the above
	Words   string `json:"problem"`
	Detail  string `json:"detail,omitempty"` // more of it, which the console shows as a list
	Command string `json:"command"`          // that shows more of it
	// Playbook says what to do: its name in infra/playbooks.
	Playbook string `json:"playbook,omitempty"`
	// Operation is the one that the problem is about; empty: several, or none.
	Operation operation.Key `json:"operation,omitempty"`
	// Receiver is the host that the failing effects go to; empty: it is not known, or the problem is another.
	Receiver string `json:"receiver,omitempty"`
	// Effect is the one that the problem is about; empty: several, or none.
	Effect string `json:"effect,omitempty"`
}

// A Section is what stands under one heading of the page, and of status.
type Section struct {
	Heading  string
	Needs    bool // what stands in it needs an operator
	Problems []Problem
}

// Sections are the Problems, and then the Notes where there are any.
func (o *Overview) Sections() []Section {
	sections := []Section{{"Needs an operator", true, o.Problems}}
	if n := len(o.Problems); n > 0 && o.Partial {
		sections[0].Heading += ": " + AtLeast(true, fmt.Sprint(n))
	}
	if len(o.Notes) > 0 {
		sections = append(sections, Section{"Needs none yet", false, o.Notes})
	}
	return sections
}

// playbooks are those of what a Problem is about, where not the problem itself decides.
var playbooks = map[string]string{
	AboutConflicts: "conflicts", AboutDead: "effects-dead", AboutEffects: "overdue", AboutPause: "overdue",
	AboutPending: "overdue", AboutQuarantine: "quarantined", AboutIntents: "unbound", AboutDocuments: "newer",
	AboutFailing: "effects-failing-long", AboutLate: "stuck", AboutUnregistered: "unmatched",
	AboutServe: "reconcile-absent", AboutPasses: "reconcile-absent", AboutWebhook: "webhook-disabled", AboutJobs: "jobs",
	AboutGemini: "unanswered", AboutUnknown: "effects-unknown", AboutUnmatched: "jobs", AboutSettings: "effects-failing",
	AboutLeftOut: "effects-unknown",
}

// needsVariables ends the words of a problem of a file's ledger whose command no serve answers.
const needsVariables = "; the command needs the variables of serve"

// An adder adds a problem, if it is one, and returns it for what is particular to it, until the next is added.
type adder func(is bool, about, command, format string, args ...any) *Problem

// adding returns an adder to a list. A command that is empty stays so, and one that reads no ledger names none.
func adding(list *[]Problem, options Options) adder {
	return func(is bool, about, command, format string, args ...any) *Problem {
		p := Problem{About: about, Words: fmt.Sprintf(format, args...), Playbook: playbooks[about]}
		if !is {
			return &p
		}
		if command != "" {
			p.Command = "opledger " + command
		}
		switch {
		case command == "":
		case about != AboutWebhook:
			p.Command += options.StoreFlag
		case options.File:
			p.Words += needsVariables
		}
		*list = append(*list, p)
		return &(*list)[len(*list)-1]
	}
}

// judge fills in the Problems and the Notes.
func (o *Overview) judge(options Options) {
	interval := options.Interval
	overdue := ledger.Settings{Interval: interval}.OverdueAfter()
	o.Problems, o.Notes = []Problem{}, nil
	add := adding(&o.Problems, options)
	note := adding(&o.Notes, options)
	late := func(since time.Time) bool { return !since.IsZero() && o.At.Sub(since) >= overdue }
	o.judgeServe(interval, late, add, note)
	add(o.Dead.N > 0, AboutDead, "list --dead", "%s with a dead effect", plural(o.Dead.Total, "operation"))
	for _, stopped := range o.Jobs.Stopped {
		add(true, AboutJobs, show(stopped.Key), "the job %s goes no further: %s", phrase.Safe(string(stopped.Key)),
			stopped.Why).Operation = stopped.Key
	}
	for _, job := range o.Jobs.Unmatched {
		add(true, AboutUnmatched, "results "+phrase.ShellWord(string(job.Key))+" --kind unmatched", "the job %s has %s",
			phrase.Safe(string(job.Key)), job.Words).Operation = job.Key
	}
	o.judgeUnperformable(interval, late, add)
	o.judgeLeftOut(options, add)
	o.judgeEffects(options, late, add)
	o.judgePass(interval, add)
	o.judgeAnswers(add)
	o.judgeRefused(add)
	add(late(o.Pending.DueSince) && !o.Serve.stuck(), AboutPending, "list --pending",
		"a look-up is due for %s: do the scheduled passes run?", o.since(o.Pending.DueSince))
	pending := add(o.Pending.Late.N > 0, AboutLate, "list --late", "%s", o.lateWords())
	if o.Pending.Missing == o.Pending.Late.N {
		pending.Playbook = "missing"
	}
	add(o.Conflicts.N > 0, AboutConflicts, "list --conflict", "%s that ended in two ways within the last week",
		plural(o.Conflicts.Total, "operation"))
	add(o.Unregistered.Long.N > 0, AboutUnregistered, "list --unregistered",
		"%s that an event reported, and that is not registered: no effect runs",
		plural(o.Unregistered.Long, "operation"))
	add(o.Unread.Unresolved.N > 0, AboutQuarantine, "quarantine list --unresolved", "%s that could not be read",
		plural(o.Unread.Unresolved, "signed request"))
	add(o.Intents.Abandoned > 0, AboutIntents, "intent list", "%s given up: no operation was found",
		AtLeast(o.Intents.Partial, phrase.Counted(o.Intents.Abandoned, "intent")))
	add(len(o.Broken) > 0, AboutDocuments, "list", "%s that cannot be read", phrase.Counted(len(o.Broken), "document"))
	o.note(options, late, note)
}

// note adds what needs no operator yet: a pause that holds nothing for long, and effects that are tried again.
func (o *Overview) note(options Options, late func(time.Time) bool, add adder) {
	command, do := o.endsPause(options.File)
	words := "effects are paused: they are planned, and none is run"
	if o.Serve.Down() {
		words += "; " + do
	}
	add(o.Paused && !late(o.Effects.ClaimableSince), AboutPause, command, "%s", words)
	add(o.PausedHere, AboutPause, "", "OPLEDGER_EFFECTS_PAUSED is true here, and the ledger says that effects are run: "+
		"unset OPLEDGER_EFFECTS_PAUSED here")
	for _, paused := range o.Jobs.Paused {
		add(true, AboutJobs, show(paused.Key), "the job %s goes no further: %s", phrase.Safe(string(paused.Key)),
			paused.Why).Operation = paused.Key
	}
	o.noteUndelivered(add)
	if missing := o.Pending.MissingLately; missing.Count > 0 {
		add(true, AboutPending, show(missing.First), "Gemini does not know %s, for %s, and is asked again",
			AtLeast(missing.Partial, phrase.Counted(missing.Count, "pending operation")),
			o.since(missing.Since)).Playbook = "missing"
	}
	if n := o.Effects.FailingLately; n > 0 {
		failing := add(true, AboutFailing, show(o.Effects.FailingFirst),
			"%s failed at the last attempt, and will be tried again",
			AtLeast(o.Effects.Partial, phrase.Counted(n, "effect")))
		failing.Playbook, failing.Detail = "effects-failing", failingDetail(o.Effects.Errors, o.Effects.Partial)
		if groups := o.Effects.Errors; len(groups) == 1 {
			failing.Receiver = phrase.Receiver(groups[0].Failure)
		}
	}
}

// failingDetail says why the most of the failing effects fail.
func failingDetail(errors []phrase.FailureGroup, partial bool) string {
	if len(errors) == 0 {
		return ""
	}
	most := errors[0]
	if len(errors) == 1 {
		return "the last error: " + most.Failure
	}
	return "the last error of " + AtLeast(partial, phrase.Number(int64(most.Count))) + " of them: " + most.Failure
}

// judgeEffects adds what an operator must do about effects that wait: nothing in a planned pause that is
// short, as in any short wait.
func (o *Overview) judgeEffects(options Options, late func(time.Time) bool, add adder) {
	first, since := show(o.Effects.First), o.Effects.ClaimableSince
	waits := o.since(since)
	command, do := o.endsPause(options.File)
	add(o.Paused && late(since), AboutPause, command,
		"effects are paused, and the first of %s has waited for %s, that of %s: %s", o.Effects.Open, waits,
		phrase.Safe(string(o.Effects.First)), do)
	add(!o.Paused && late(since) && !o.Serve.stuck(), AboutEffects, first,
		"effects could have been run for %s: do their workers and the scheduled passes run?", waits)
	long := o.Effects.Long
	if long.N > 0 {
		failing := add(true, AboutFailing, show(long.Operation), "%s failing for %s: %s", plural(long.Total, "effect"),
			o.since(long.Since), phrase.Readable(long.Error))
		if failing.Receiver = phrase.Receiver(long.Error); len(long.Errors) > 1 {
			failing.Detail = failingDetail(long.Errors, long.Partial)
		}
	}
	for _, unknown := range o.Effects.Unknown {
		waits := "wait"
		if unknown.Count == 1 && !o.Effects.Partial {
			waits = "waits"
		}
		add(true, AboutUnknown, show(unknown.Operation), "%s of the rule %s %s, and the workers have no such rule: put it "+
			"back into OPLEDGER_EFFECTS, or --forward-to of serve, and start them again",
			AtLeast(o.Effects.Partial, phrase.Counted(unknown.Count, "effect")), phrase.Safe(unknown.Name), waits)
	}
}

// answerPlaybooks are those of what Gemini says to every look-up.
var answerPlaybooks = map[string]string{lookup.Denied: "key-denied"}

// judgeAnswers adds that Gemini answers no look-up: what ends is then not found out, long before it is late.
func (o *Overview) judgeAnswers(add adder) {
	none := o.Unanswered
	if none == nil || o.Pending.N == 0 {
		return
	}
	problem := add(true, AboutGemini, "reconcile", "Gemini answered none of the last look-ups, %d in all (%s): %s",
		none.LookUps, phrase.Safe(none.Reason), phrase.Safe(none.Error))
	problem.Playbook = cmp.Or(answerPlaybooks[none.Reason], problem.Playbook)
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
	if missing > 0 {
		words += "; Gemini does not know " + AtLeast(o.Pending.Partial, fmt.Sprint(missing)) + " of them"
	}
	return words
}

func plural(t ledger.Total, thing string) string {
	if t.N != 1 {
		thing += "s"
	}
	return t.String() + " " + thing
}

// AtLeast says a number of what was read. Where that is a part of a list, there may be more.
func AtLeast(partial bool, number string) string {
	if partial {
		return "at least " + number
	}
	return number
}
