package operations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/console"
	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/overview"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/ledger"
)

// statusSettings are the settings of the functions that status needs.
type statusSettings struct {
	Passes config.Passes
	config.Pause
}

// NewStatus makes opledger status.
func NewStatus(outside terminal.Environment) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is pending, running and dead, and what needs an operator",
		Long: "Shows the pending operations and their age, the open and the dead effects, the quarantine, the intents\n" +
			"that wait, the operations that ended in two ways within the last week, the unregistered operations, and\n" +
			"how the last reconcile pass ended. Then it lists the problems that need an operator, each with the\n" +
			"command that shows more and its playbook, which infra/playbooks and the console have; then what needs none\n" +
			"yet. The console's Overview has the same. It exits with 1 if an operator is needed, and with 3 if the\n" +
			"ledger could not be read.\n\n" +
			"Among the problems are a dead effect, an effect that has failed for an hour or whose rule no worker has,\n" +
			"an operation that is pending for too long, one that is not registered an hour after its event, and a job\n" +
			"that goes on only once someone has acted: it is held, or Gemini refuses its key. So are a last pass that\n" +
			"ended three intervals ago, that Gemini answers no look-up, a webhook that is disabled or does not know\n" +
			"Gemini's secret, an effect that serve or a deployment has left out since a start, or that operations ended\n" +
			"without meanwhile, and what a serve that runs on the ledger's file cannot perform; that it crashed, or does\n" +
			"not answer. One that was stopped in order needs an operator once a pass, a look-up or an effect is late.\n" +
			"The interval is the one that the ledger has stored, unless $OPLEDGER_INTERVAL is set. The webhook's health\n" +
			"is from the last pass.\n\n" +
			"The pause is that of the functions, or of opledger serve. Where the ledger knows of none yet,\n" +
			"$OPLEDGER_EFFECTS_PAUSED=true counts. A pause needs an operator once it has held an effect for an hour, or\n" +
			"for three intervals if those are longer.\n\n" +
			"Counts stop at 10,000. Of each kind that it does not count it reads 100 documents, from Firestore 4. So\n" +
			"it costs at most 53 reads of Firestore, one more for each further 1,000 counted, and 4 for each effect\n" +
			"that is left out. Where a list is longer, status says of how many it found that there are at least so\n" +
			"many. With --json, partial is then true: in pending, effects, dead, intents, jobs and leftOut of the\n" +
			"numbers there, and at the top if there may be further problems.",
		Example: "  opledger status\n" +
			"  opledger status --json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, l, err := open.Read[statusSettings](cmd.Context(), outside)
			if err != nil {
				return err
			}
			options := overview.Options{
				Interval: settings.Passes.Interval, Most: console.FirestoreMost, Paused: settings.Paused,
				File: l.Where.IsFile(), Rules: l.Rules,
				StoreFlag: phrase.StoreFlag(l.Where.Named()),
			}
			if l.Where.IsFile() {
				options.Most = 100
			}
			s := terminal.Screen{Width: outside.Width(false)}
			var needs error
			err = terminal.Repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
				options.Serve = l.Where.Serve(cmd.Context())
				needs, err = status(cmd.Context(), w, l.Ledger, options, s, outside.JSON)
				return err
			})
			return errors.Join(err, l.Store.Close(), needs)
		},
	}
	open.LedgerFlags(cmd, &outside)
	terminal.WatchFlag(cmd, &watch)
	return cmd
}

// status prints the overview. needs is not nil if something needs an operator.
func status(
	ctx context.Context, w io.Writer, l *ledger.Ledger, options overview.Options, s terminal.Screen, asJSON bool,
) (needs, err error) {
	o, err := overview.Read(ctx, l.Reading(), options)
	if err != nil {
		return nil, err
	}
	if words := problemWords(o); len(words) > 0 {
		needs = fmt.Errorf("an operator is needed: %s", strings.Join(words, "; "))
	}
	if asJSON {
		return needs, terminal.PrintJSON(w, o)
	}
	s.Now = o.At
	return needs, printStatus(w, s, o)
}

func problemWords(o overview.Overview) []string {
	words := make([]string, len(o.Problems))
	for i, p := range o.Problems {
		words[i] = p.Words
	}
	if o.Partial && len(words) > 0 {
		words = append(words, "there may be more: the lists are longer than what was read")
	}
	return words
}

func printStatus(w io.Writer, s terminal.Screen, o overview.Overview) error {
	pending := o.Pending.Total.String()
	if o.Pending.Late.N > 0 {
		pending += fmt.Sprintf(", %s of them for too long", o.Pending.Late)
	}
	if o.Pending.Oldest != "" {
		pending += fmt.Sprintf(", the oldest for %s: %s", phrase.Span(o.At.Sub(o.Pending.SubmittedAt)),
			phrase.Safe(string(o.Pending.Oldest)))
	}
	effects := fmt.Sprintf("%s run, %s open", o.Effects.Running, o.Effects.Open)
	if o.Effects.Failing > 0 {
		effects += ", " + overview.AtLeast(o.Effects.Partial, fmt.Sprint(o.Effects.Failing)) + " back off after a failure"
	}
	if o.Paused {
		effects += "; paused by OPLEDGER_EFFECTS_PAUSED"
	}
	conflicts := o.Conflicts.Total.String()
	if o.Conflicts.N > 0 {
		conflicts += fmt.Sprintf(" within a week, the newest %s: %s", phrase.Relative(o.Conflicts.At, o.At),
			phrase.Safe(string(o.Conflicts.Newest)))
	}
	unregistered := o.Unregistered.Total.String()
	if o.Unregistered.N > 0 {
		unregistered += fmt.Sprintf(", the newest %s: %s", phrase.Relative(o.Unregistered.At, o.At),
			phrase.Safe(string(o.Unregistered.Newest)))
	}
	out := terminal.NewTable(w)
	out.Line("pending", pending)
	out.Line("effects", effects)
	out.Line("dead", o.Dead.Total)
	quarantine := o.Unread.Unresolved.String()
	if o.Unread.N > 0 {
		quarantine += fmt.Sprintf(" unresolved, %s kept", o.Unread.Total)
	}
	out.Line("quarantine", quarantine)
	intents := o.Intents.Total.String()
	if o.Intents.N > 0 {
		intents += ": " + o.Intents.Words()
	}
	out.Line("intents", intents)
	out.Line("conflicts", conflicts)
	out.Line("unregistered", unregistered)
	out.Line("last pass", o.PassWords())
	out.Line("webhook", o.WebhookWords())
	err := errors.Join(out.End(), printFailures(w, s, o.Dead.Errors, false, o.Dead.Of()))
	if len(o.Problems) == 0 {
		words := "\nnothing needs an operator"
		if o.Partial {
			words += ", of what was read: the lists are longer"
		}
		_, sayErr := fmt.Fprintln(w, words)
		err = errors.Join(err, sayErr)
	}
	for _, section := range o.Sections() {
		err = errors.Join(err, printProblems(w, section))
	}
	return err
}

// printProblems prints a section, if anything is in it, as the console's Overview has it.
func printProblems(w io.Writer, section overview.Section) error {
	if len(section.Problems) == 0 {
		return nil
	}
	rows := [][]any{{strings.ToUpper(section.Heading), "COMMAND", "PLAYBOOK"}}
	for _, p := range section.Problems {
		words := p.Words
		if p.Detail != "" {
			words += "; " + p.Detail
		}
		rows = append(rows, []any{words, cmp.Or(p.Command, "-"), phrase.Safe(p.Playbook)})
	}
	_, err := fmt.Fprintln(w)
	return errors.Join(err, terminal.Screen{}.Rows(w, rows))
}
