package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is an error of whoever typed the command.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run executes a command line and returns its exit code.
func run(ctx context.Context, args []string, outside environment) int {
	root := newRoot(outside)
	root.SetArgs(args)
	root.SetIn(outside.in)
	root.SetOut(outside.out)
	root.SetErr(outside.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	message := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' }), "; ")
	_, _ = fmt.Fprintln(outside.err, "opledger: "+dash(message)) // there is nowhere else to say it
	if errors.As(err, new(usageError)) || isCobraUsage(err) {
		return exitUsage
	}
	return exitFailed
}

// isCobraUsage finds the mistakes that cobra reports without a type of their own.
func isCobraUsage(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown command ") || strings.HasPrefix(err.Error(), "if any flags in the group ")
}

func newRoot(outside environment) *cobra.Command {
	root := &cobra.Command{
		Use:   "opledger",
		Short: "Keeps the record of long-running Gemini operations, and runs what follows from their end once",
		Long: "opledger takes in the completions of long-running Gemini operations once, however often they arrive,\n" +
			"never rolls a finished one back, and runs what follows from it until its outcome is known.",
		Example: "  opledger local\n" +
			"  opledger serve --port 9000\n" +
			"  opledger list --pending",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(
		newLocal(outside), newServe(outside), newList(outside), newShow(outside), newSubmit(outside), newRegister(outside),
		newReconcile(outside), newReplay(outside), newAbandon(outside), newForget(outside), newQuarantine(outside), newWebhook(outside),
	)
	return root
}

// usageArgs makes wrong arguments an error of use.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
		}
		return nil
	}
}
