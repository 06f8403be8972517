package root

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/config"
	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/gemini/webhooks"
	"github.com/opledger/opledger/shared/job"
	"github.com/opledger/opledger/shared/ledger"
	"github.com/opledger/opledger/shared/operation"
)

var shells = []string{"bash", "zsh", "fish"}

func newCompletion(outside terminal.Environment) *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print what completes command lines in bash, zsh or fish",
		Long: "Prints a script for a shell: bash, zsh or fish. With it the Tab key completes commands, flags, states,\n" +
			"collections and the effects in $OPLEDGER_EFFECTS. It completes the newest operations, their job kinds\n" +
			"and the waiting intents too, where the ledger is a file. It never reads Firestore.",
		Example: "  opledger completion bash > /etc/bash_completion.d/opledger\n" +
			"  opledger completion zsh > \"${fpath[1]}/_opledger\"\n" +
			"  opledger completion fish > ~/.config/fish/completions/opledger.fish",
		Args:      terminal.Args(cobra.ExactArgs(1)),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			switch root := cmd.Root(); args[0] {
			case "bash":
				err = root.GenBashCompletionV2(outside.Out, true)
			case "zsh":
				err = root.GenZshCompletion(outside.Out)
			case "fish":
				err = root.GenFishCompletion(outside.Out, true)
			default:
				return terminal.Usagef(cmd, "the shell must be %s, not %s%s", diag.OneOf(shells), diag.Quote(args[0]),
					diag.DidYouMean(args[0], shells))
			}
			if err != nil {
				return fmt.Errorf("printing: %w", err)
			}
			return nil
		},
	}
}

// completeTimeout bounds how long the Tab key waits for a ledger.
const completeTimeout = 2 * time.Second

// completed are how many operations or intents are proposed.
const completed = 50

// A proposal returns the values that a flag or an argument may have.
type proposal func() []string

// fixed proposes the same values always.
func fixed[Word ~string](values ...Word) proposal {
	return func() []string { return diag.Texts(values) }
}

// complete makes every command below cmd complete its flags and arguments.
func complete(cmd *cobra.Command, outside terminal.Environment) {
	outside.Err = io.Discard // a note would stand in the middle of the command line
	from := proposer{outside, cmd}
	key := func(rec operation.Record) string { return string(rec.Key) }
	flags := map[string]proposal{
		"state":      fixed(operation.States()...),
		"collection": fixed(open.Collections()...),
		"faults":     fixed("none", "normal", "harsh"),
		"kind":       fixed("results", "failed", "unmatched"),
		"by":         fixed("kind", "model"),
		"validate":   fixed("json", "schema"),
		"retry-on":   fixed("invalid", "truncated"),
		"outcome":    fixed(job.NotDone()...),
		"without":    from.effects,
		"effect":     from.effects,
		"job-kind":   from.operations("", func(rec operation.Record) string { return rec.JobKind }),
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if values, ok := flags[f.Name]; ok {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, values.ofFlag(f)) // an error is for a flag that is not there
		}
	})
	arguments := strings.NewReplacer("[", "", "]", "").Replace(cmd.Use)
	switch {
	case cmd.ValidArgs != nil || strings.Contains(arguments, " FILE"):
	case strings.Contains(arguments, " CORRELATION-ID"):
		cmd.ValidArgsFunction = proposal(from.intents).ofArgument
	case strings.HasSuffix(arguments, " EVENT NAME"):
		cmd.ValidArgsFunction = fixed(webhooks.Events()...).ofArgument
	case strings.Contains(arguments, " JOB"):
		cmd.ValidArgsFunction = from.operations(operation.Jobs, key).ofArgument
	case strings.Contains(arguments, " NAME") && cmd.Name() != "register":
		cmd.ValidArgsFunction = from.operations("", key).ofArgument
	default:
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, below := range cmd.Commands() {
		complete(below, outside)
	}
}

// ofFlag completes a flag, of a list its last value.
func (values proposal) ofFlag(f *pflag.Flag) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := ""
		if i := strings.LastIndexByte(typed, ','); i >= 0 && f.Value.Type() == "stringSlice" {
			before = typed[:i+1]
		}
		return distinctWith(before, values()), cobra.ShellCompDirectiveNoFileComp
	}
}

// ofArgument completes the first argument.
func (values proposal) ofArgument(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return distinctWith("", values()), cobra.ShellCompDirectiveNoFileComp
}

// distinctWith returns each value that is not empty once, behind what was typed before.
func distinctWith(before string, values []string) []string {
	var distinct []string
	for _, v := range values {
		if v != "" && !slices.Contains(distinct, before+v) {
			distinct = append(distinct, before+v)
		}
	}
	return distinct
}

// A proposer finds what can be proposed for a command.
type proposer struct {
	outside terminal.Environment
	cmd     *cobra.Command
}

// operations proposes a value of each of the newest operations of a ledger that is a file; of "": of any collection.
func (p proposer) operations(of operation.Collection, value func(operation.Record) string) proposal {
	return func() (values []string) {
		p.read(func(ctx context.Context, l *ledger.Ledger) {
			filter := ledger.Filter{Collection: of, Limit: completed}
			page, _ := l.Operations.List(ctx, filter) // without an answer nothing is proposed
			for _, rec := range page.Items {
				values = append(values, value(rec))
			}
		})
		return values
	}
}

// intents returns the correlation ids that wait for their operation in a ledger that is a file.
func (p proposer) intents() (ids []string) {
	p.read(func(ctx context.Context, l *ledger.Ledger) {
		page, _ := l.Intents.Waiting(ctx, ledger.Cursor{}, completed)
		for _, item := range page.Items {
			ids = append(ids, item.Intent.CorrelationID)
		}
	})
	return ids
}

// read opens a ledger that is a file for do. Another one is not read: each document costs, and each
// answer takes time.
func (p proposer) read(do func(context.Context, *ledger.Ledger)) {
	if store := p.cmd.Flags().Lookup("store"); store != nil {
		p.outside.Store = store.Value.String()
	}
	if where, err := open.Find(p.outside); err != nil || !where.IsFile() {
		return
	}
	ctx, cancel := context.WithTimeout(p.cmd.Context(), completeTimeout)
	defer cancel()
	_ = open.Reader(ctx, p.outside, func(l *ledger.Ledger) error {
		do(ctx, l)
		return nil
	})
}

// effects returns the names of those in the settings.
func (p proposer) effects() []string {
	settings, _ := config.Parse[struct{ Ledger config.Ledger }](p.outside.Variables) // with an error there are none
	return settings.Ledger.EffectNames()
}
