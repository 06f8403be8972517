package operations

import (
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
	Passes  config.Passes
	Effects struct {
		Paused bool `env:"OPLEDGER_EFFECTS_PAUSED" envDefault:"false"`
	}
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
			"command that shows more and its playbook, which infra/playbooks and the console have. It exits with 1 if\n" +
			"there is one, and with 3 if the ledger could not be read.\n\n" +
			"Among the problems are a dead effect, an effect that has failed for an hour, an operation that is\n" +
			"pending for too long, one that is not registered an hour after its event, and a job that goes on only\n" +
			"once someone has acted: it is held, or Gemini refuses its key. So is a last pass that ended three\n" +
			"intervals ago. The interval is the one that the ledger has stored, unless\n" +
			"$OPLEDGER_INTERVAL is set. The webhook's health is from the last pass.\n\n" +
			"The pause is that of the functions, or of opledger serve; $OPLEDGER_EFFECTS_PAUSED=true counts, too. A\n" +
			"pause needs an operator once it has held an effect for an hour, or for three intervals if those are\n" +
			"longer.\n\n" +
			"Counts stop at 10,000. Of each kind that it does not count it reads 100 documents, from Firestore 4. So\n" +
			"it costs at most 52 reads of Firestore, and one more for each further 1,000 counted.",
		Example: "  opledger status\n" +
			"  opledger status --json",
		Args: terminal.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, l, err := open.Read[statusSettings](cmd.Context(), outside)
			if err != nil {
				return err
			}
			options := overview.Options{
				Interval: settings.Passes.Interval, Most: console.FirestoreMost, Paused: settings.Effects.Paused,
			}
			if outside.Store != "" {
				options.StoreFlag = " --store " + phrase.ShellWord(outside.Store)
			}
			if l.Where.IsFile() {
				options.Most = 100
			}
			s := terminal.Screen{Width: outside.Width(false)}
			var needs error
			err = terminal.Repeated(cmd.Context(), outside, watch, func(w io.Writer) error {
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
	if len(o.Problems) > 0 {
		needs = fmt.Errorf("an operator is needed: %s", strings.Join(problemWords(o), "; "))
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
		effects += fmt.Sprintf(", %d back off after a failure", o.Effects.Failing)
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
	out.Line("quarantine", o.Unread.Total)
	out.Line("intents", o.Intents.Total)
	out.Line("conflicts", conflicts)
	out.Line("unregistered", unregistered)
	out.Line("last pass", o.PassWords())
	out.Line("webhook", o.WebhookWords())
	err := errors.Join(out.End(), printFailures(w, s, o.Dead.Errors))
	if len(o.Problems) == 0 {
		_, sayErr := fmt.Fprintln(w, "\nnothing needs an operator")
		return errors.Join(err, sayErr)
	}
	rows := [][]any{{"NEEDS AN OPERATOR", "COMMAND", "PLAYBOOK"}}
	for _, p := range o.Problems {
		rows = append(rows, []any{p.Words, p.Command, phrase.Safe(p.Playbook)})
	}
	_, sayErr := fmt.Fprintln(w)
	return errors.Join(err, sayErr, terminal.Screen{}.Rows(w, rows))
}
