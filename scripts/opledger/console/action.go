package console

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opledger/opledger/scripts/opledger/actions"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/gemini/cancel"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

// A decision is what the operator typed, beside the number of the question.
type decision struct {
	ledger.Decision
	Question string
}

// An action is one row of the table of what an operator can do.
type action struct {
	name  string // in the address of its question
	label string // of its button
	// title and happens are the question: what is asked, and what will happen.
	title   func(subject) string
	happens []string
	who     bool   // the operator is recorded
	why     bool   // a reason must be given, and is recorded
	runs    bool   // an effect is run
	about   kind   // what it is done to
	command string // that does the same to the NAME and the EFFECT of its subject
	// can reports whether the state of the subject allows it.
	can func(subject) bool
	// do does it, and says what became of it. nil: only the terminal can, or each does it.
	do func(context.Context, *actions.Actions, subject, decision) (outcome, error)
	// each does it to the effects of a group, one after another, and says how far it is.
	each func(context.Context, *actions.Actions, subject, decision, func(actions.Progress)) error
}

// A kind is what an action is done to.
type kind int

const (
	ofOperation kind = iota // or to a job, a part, or an effect of them
	ofDelivery              // in quarantine
	ofGroup                 // of effects
	ofIntent
	ofPause // of effects
	ofLeftOut
)

// An outcome is what became of an action.
type outcome struct {
	Title string // "Done", where it is empty
	Words string
	Then  []string // what follows, and what is left to do
	// Playbook says more: its name; empty: there is none.
	Playbook string
	Part     string // of the page of its subject, that shows more; empty: its beginning
}

// table is what an operator can do, in the order of the buttons.
var table = slices.Concat(jobActions, operationActions, groupActions, intentActions, pauseActions, leftOutActions)

// endPause is the name of what ends a pause of effects.
const endPause = "end-pause"

// unpauseHere is what ends a pause that the settings of this console's process alone ask for.
const unpauseHere = "Unset OPLEDGER_EFFECTS_PAUSED where this console is started, if it is set, and start it again."

// pauseActions are what can be done about a pause of effects.
var pauseActions = []action{{
	name: endPause, label: "End the pause", about: ofPause, command: "opledger resume --effects", who: true, why: true,
	title: func(subject) string { return "End the pause of effects?" },
	happens: []string{
		"opledger serve, which works on this ledger, performs what is due at once, with its own settings.",
		"While OPLEDGER_EFFECTS_PAUSED is true where serve is started, its next start pauses effects again.",
		"Who ended it and why is in the log of serve.",
	},
	can: func(s subject) bool { return s.PausedBy != "" },
	do: func(ctx context.Context, a *actions.Actions, _ subject, d decision) (outcome, error) {
		ended, err := a.EndPause(ctx, d.Decision)
		switch {
		case err != nil:
			return outcome{}, err
		case !ended:
			return outcome{Words: "serve is not paused: it performs what is due.", Then: []string{unpauseHere}}, nil
		}
		return outcome{
			Words: "The pause has ended, and serve performs what is due.",
			Then:  []string{"Unset OPLEDGER_EFFECTS_PAUSED where serve is started: its next start pauses effects again."},
		}, nil
	},
}}

// operationActions are what can be done to an operation, an effect or a delivery.
var operationActions = []action{
	{
		name: "lookup", label: "Look up now", command: "opledger reconcile NAME",
		title: func(s subject) string { return fmt.Sprintf("Look %s up now?", s.Record.Key) },
		happens: []string{
			"Gemini is asked about this operation now, whether or not a look-up is due.",
			"Its answer is applied as by a scheduled pass: a terminal state settles the operation and plans its effects.",
			"A settled operation keeps its state, unless OPLEDGER_TERMINAL_TRANSITIONS allows the move.",
		},
		can: func(s subject) bool {
			return s.ofOperation() && s.Record.Version > 0 && (!s.Record.Settled() || s.Conflict) && !s.isJob()
		},
		do: lookUp,
	},
	{
		name: "resolve", label: "Resolve", command: "opledger resolve NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Resolve the conflict of %s?", s.Record.Key) },
		happens: []string{
			"The operation no longer needs an operator for its conflict. Who resolved it, when and why is recorded.",
			"The first terminal state stands as before, and no effect runs.",
			"A report of another terminal state is a new conflict.",
		},
		can: func(s subject) bool { return s.ofOperation() && s.Record.Conflicted() },
		do:  decided(recordOf, (*actions.Actions).Resolve),
	},
	{
		name: "register", label: "Register it", command: "opledger register NAME",
		happens: []string{"If it has ended, its effects are planned."},
		can:     func(s subject) bool { return s.ofOperation() && s.Record.Version > 0 && !s.Record.Registered },
	},
	{
		name: "resolve-unregistered", label: "Resolve", command: "opledger resolve NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Resolve that %s is not registered?", s.Record.Key) },
		happens: []string{
			"The operation needs no operator for not being registered. Who resolved it, when and why is recorded.",
			"It can still be registered; its effects are then planned.",
		},
		can: func(s subject) bool {
			return s.ofOperation() && s.Record.Version > 0 && s.Record.Unregistered() && !s.Record.Conflicted()
		},
		do: decided(recordOf, (*actions.Actions).Resolve),
	},
	{
		name: "cancel", label: "Cancel at Gemini", command: "opledger cancel NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Ask Gemini to cancel %s?", s.Record.Key) },
		happens: []string{
			"Gemini is asked to cancel it. Who asked, when and why is recorded.",
			"It stays pending until Gemini says how it ended. It may succeed all the same, and then its effects run.",
		},
		can: func(s subject) bool {
			return s.ofOperation() && s.Record.Version > 0 && !s.Record.Settled() && cancel.Supports(s.Record.Key)
		},
		do: decided(keyOf, (*actions.Actions).Cancel),
	},
	{
		name: "abandon", label: "Abandon", command: "opledger abandon NAME --reason 'WHY'", who: true, why: true,
		title: func(s subject) string { return fmt.Sprintf("Abandon %s?", s.Record.Key) },
		happens: []string{
			"The waiting ends: the operation is no longer looked up, and raises no more alerts. Its state stays.",
			laterEnd,
		},
		can: func(s subject) bool {
			return s.ofOperation() && s.Record.Registered && !s.Record.Settled() && s.Record.Abandoned == nil &&
				!s.isJob() && !s.needed()
		},
		do: decided(keyOf, (*actions.Actions).Abandon, laterEnd),
	},
	{
		name: "replay", label: "Run it again", command: "opledger replay NAME --effect EFFECT", who: true, runs: true,
		title: func(s subject) string { return fmt.Sprintf("Run %s of %s again?", s.Effect.Name, s.Record.Key) },
		happens: []string{
			"The effect is opened again with all its attempts, and a worker runs it.",
			"It keeps its idempotency key: a receiver that has accepted it already recognises the repeat.",
			"If it runs once per item, only the items that failed or are not done are tried.",
		},
		can: func(s subject) bool { return s.Effect.State == ledger.EffectDead || s.withheld() },
		do: func(ctx context.Context, a *actions.Actions, s subject, d decision) (outcome, error) {
			return run(ctx, a, s, d, "")
		},
	},
	{
		name: "rerun", label: "Run it once more", who: true, runs: true,
		command: "opledger replay NAME --effect EFFECT --rerun",
		title:   func(s subject) string { return fmt.Sprintf("Run %s of %s once more?", s.Effect.Name, s.Record.Key) },
		happens: []string{
			"The effect is done. A new run of it is planned, with the same content.",
			"The run has an idempotency key of its own: the receiver cannot recognise it as a repeat, and does the " +
				"work a second time.",
		},
		can: func(s subject) bool {
			return s.Effect.State == ledger.EffectDone && ledger.RuleOf(s.Effect.Name) == s.Effect.Name &&
				!job.IsStep(s.Effect.Name)
		},
		do: func(ctx context.Context, a *actions.Actions, s subject, d decision) (outcome, error) {
			return run(ctx, a, s, d, d.Question)
		},
	},
	{
		name: "waive", label: "Waive", who: true, why: true,
		command: "opledger waive NAME --effect EFFECT --reason 'WHY'",
		title:   func(s subject) string { return fmt.Sprintf("Waive %s of %s?", s.Effect.Name, s.Record.Key) },
		happens: []string{
			"The effect stays dead, and counts as handled: nothing runs it, and it no longer needs an operator.",
			"Its failed items are waived with it. It can still be run again until its record expires.",
		},
		can: func(s subject) bool {
			return s.Effect.State == ledger.EffectDead && s.Effect.Abandoned == nil &&
				!(job.IsStep(s.Effect.Name) && s.needed())
		},
		do: func(ctx context.Context, a *actions.Actions, s subject, d decision) (outcome, error) {
			_, words, err := a.Waive(ctx, s.Record.Key, s.Effect.Name, d.Decision)
			return outcome{Words: words}, err
		},
	},
	{
		name: "retry", label: "Ingest it again", about: ofDelivery, command: "opledger quarantine retry NAME",
		title: func(s subject) string { return fmt.Sprintf("Ingest the delivery %s again?", s.Delivery.ID) },
		happens: []string{
			"This revision reads the body again. If it can, the event is applied under the delivery's own id, once.",
			"The body stays in quarantine until its retention ends.",
		},
		can: func(s subject) bool { return s.Delivery != nil && !s.Delivery.Ingested() },
		do: func(ctx context.Context, a *actions.Actions, s subject, _ decision) (outcome, error) {
			_, words, err := a.Retry(ctx, s.Delivery.ID)
			return outcome{Words: words}, err
		},
	},
	{
		name: "resolve-delivery", label: "Resolve", about: ofDelivery, who: true, why: true,
		command: "opledger quarantine resolve NAME --reason 'WHY'",
		title:   func(s subject) string { return fmt.Sprintf("Resolve the delivery %s?", s.Delivery.ID) },
		happens: []string{
			"The delivery needs no operator any more. Who resolved it, when and why is recorded.",
			"The body stays in quarantine until its retention ends.",
		},
		can: func(s subject) bool { return s.Delivery != nil && !s.Delivery.UnresolvedAt.IsZero() },
		do:  decided(func(s subject) string { return s.Delivery.ID }, (*actions.Actions).ResolveQuarantined),
	},
}

// decided is what an action does that records a decision about something of its subject; then is what follows.
func decided[Of, Stands any](
	of func(subject) Of,
	record func(*actions.Actions, context.Context, Of, ledger.Decision) (stands Stands, words string, err error),
	then ...string,
) func(context.Context, *actions.Actions, subject, decision) (outcome, error) {
	return func(ctx context.Context, a *actions.Actions, s subject, d decision) (outcome, error) {
		_, words, err := record(a, ctx, of(s), d.Decision)
		return outcome{Words: words, Then: then}, err
	}
}

// keyOf is the operation, the job or the part that a decision is about, and recordOf is it as it was seen.
func keyOf(s subject) operation.Key       { return s.Record.Key }
func recordOf(s subject) operation.Record { return s.Record }

// line is the command that does the same; empty: there is none. No flag chooses the effects whose receiver is not
// known, and with --now the command runs the dead ones of a group, too.
func (a action) line(s subject) string {
	if s.Group != nil && (s.Group.Receiver == "" || a.name == nowGroup && len(s.Group.Dead) > 0) {
		return ""
	}
	key, effect := s.named()
	return strings.NewReplacer("NAME", phrase.ShellWord(key), "EFFECT", phrase.ShellWord(effect)).Replace(a.command) +
		s.view.StoreFlag()
}

// question is the address of the page that asks whether to do it.
func (a action) question(s subject) string {
	key, effect := s.named()
	return link(askPath, "do", a.name, theKey, key, "effect", effect)
}

// A remedy is what can be done about a subject now.
type remedy struct {
	Label, Explains string
	Line            string // the command
	Address         string // of the question; empty: only the terminal can
	First           bool   // what is usually done
}

// remedies are what can be done about a subject: by a button where actions are allowed, and by a
// command in any case.
func (c *Console) remedies(s subject) (all []remedy) {
	for _, a := range table {
		if !a.can(s) {
			continue
		}
		rarely := []string{"rerun", "forget-intent", pauseJob, cancelJob, redrive, release}
		resumes := a.name == "lookup" && s.Record.Abandoned != nil // what is rarely wanted
		r := remedy{
			Label: a.label, Explains: a.happens[0], Line: a.line(s),
			First: len(all) == 0 && !slices.Contains(rarely, a.name) && !resumes,
		}
		if c.allows(a) {
			r.Address = a.question(s)
			if a.runs && s.view.Paused && c.overrides() {
				r.Explains += " Effects are paused, and this process runs it all the same."
			}
		}
		all = append(all, r)
	}
	return all
}

// allows reports whether this console can do it.
func (c *Console) allows(a action) bool {
	given := c.options.Actions
	switch {
	case given == nil || a.do == nil && a.each == nil:
		return false
	case a.name == "lookup":
		return given.One != nil
	case a.name == "cancel":
		return given.AskToCancel != nil
	case a.name == endPause:
		return given.EndPause != nil
	case a.name == redrive:
		return given.Storage != nil
	default:
		return true
	}
}

// find returns the row of the table with that name.
func find(name string) (action, bool) {
	i := slices.IndexFunc(table, func(a action) bool { return a.name == name })
	if i < 0 {
		return action{}, false
	}
	return table[i], true
}
