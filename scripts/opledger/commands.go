package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/diag"
	"github.com/opledger/opledger/shared/httpfunc"
)

// program is the name that every line of an error begins with.
const program = "opledger"

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
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	err = ofTogether(cmd, err)
	if !errors.As(err, new(usageError)) {
		_, _ = fmt.Fprint(outside.err, diag.Lines(program, onOneLine{err})) // there is nowhere else to say it
		return exitFailed
	}
	var request *httpfunc.Error // of register, whose problems are a text each
	if errors.As(err, &request) && len(request.Problems) > 0 {
		var problems []error
		for _, problem := range request.Problems {
			problems = append(problems, errors.New(problem))
		}
		err = errors.Join(problems...)
	}
	_, _ = fmt.Fprint(outside.err, diag.Lines(program, err))
	return exitUsage
}

// onOneLine is what went wrong with what was begun: one thing, and perhaps what followed from it.
type onOneLine struct{ error }

func newRoot(outside environment) *cobra.Command {
	root := &cobra.Command{
		Use:     program,
		Version: versionText(debug.ReadBuildInfo()),
		Short:   "Keeps the record of long-running Gemini operations, and runs what follows from their end once",
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
	root.SetVersionTemplate(program + " {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newLocal(outside), newServe(outside), newList(outside), newShow(outside), newSubmit(outside), newRegister(outside),
		newReconcile(outside), newReplay(outside), newAbandon(outside), newForget(outside), newQuarantine(outside), newWebhook(outside),
		newBackup(outside), newRecover(outside),
	)
	return root
}
