// Package root is the command line as a whole: all commands under one, and what a run of it ends with.
package root

import (
	"context"
	"errors"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/backup"
	"github.com/opledger/opledger/scripts/opledger/deployment"
	"github.com/opledger/opledger/scripts/opledger/effects"
	"github.com/opledger/opledger/scripts/opledger/intents"
	"github.com/opledger/opledger/scripts/opledger/operations"
	"github.com/opledger/opledger/scripts/opledger/quarantine"
	"github.com/opledger/opledger/scripts/opledger/serve"
	"github.com/opledger/opledger/scripts/opledger/submission"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/scripts/opledger/trial"
	"github.com/opledger/opledger/scripts/opledger/webhook"
	"github.com/opledger/opledger/shared/httpfunc"
)

// Run executes a command line and returns its exit code.
func Run(ctx context.Context, args []string, outside terminal.Environment) int {
	root := New(outside)
	root.SetArgs(args)
	root.SetIn(outside.In)
	root.SetOut(outside.Out)
	root.SetErr(outside.Err)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return terminal.ExitDone
	case errors.Is(context.Cause(ctx), syscall.EPIPE):
		return terminal.ExitPipe
	case errors.Is(err, terminal.ErrLogged):
		return terminal.ExitFailed
	}
	outside.JSON = terminal.AsksForJSON(cmd, args)
	if code := terminal.ExitCode(err); code != terminal.ExitUsage {
		outside.PrintError(code, onOneLine{err})
		return code
	}
	// A refused registration lists its problems as texts.
	if request, ok := errors.AsType[*httpfunc.Error](err); ok && len(request.Problems) > 0 {
		var problems []error
		for _, problem := range request.Problems {
			problems = append(problems, errors.New(problem))
		}
		err = errors.Join(problems...)
	}
	outside.PrintError(terminal.ExitUsage, err)
	return terminal.ExitUsage
}

// onOneLine hides joined errors from diag.Lines: a failure is one event, with what followed from
// it.
type onOneLine struct{ error }

// New makes opledger with all its commands.
func New(outside terminal.Environment) *cobra.Command {
	root := &cobra.Command{
		Use:     terminal.Program,
		Version: terminal.Version(),
		Short:   "Record long-running Gemini operations and run the side effects of their completion once",
		Long: "opledger records each completion of a long-running Gemini operation once, however often it\n" +
			"is delivered. It never rolls a finished operation back, and it runs its side effects until\n" +
			"their outcome is known.",
		Example: "  opledger local\n" +
			"  opledger serve --port 9000\n" +
			"  opledger list --pending",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          terminal.Args(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate(terminal.Program + " {{.Version}}\n")
	root.SetFlagErrorFunc(terminal.FlagError)
	root.AddCommand(
		trial.New(outside), serve.New(outside), serve.NewConsole(outside), operations.NewStatus(outside),
		operations.NewList(outside), operations.NewShow(outside), operations.NewResults(outside),
		operations.NewWait(outside), operations.NewUsage(outside),
		submission.NewSubmit(outside), submission.NewRegister(outside), operations.NewReconcile(outside),
		effects.NewReplay(outside), operations.NewCancel(outside), operations.NewPause(outside),
		operations.NewResume(outside), operations.NewChange(outside), operations.NewRelease(outside),
		submission.NewRedrive(outside),
		operations.NewAbandon(outside), effects.NewWaive(outside), operations.NewResolve(outside),
		operations.NewForget(outside), intents.New(outside),
		quarantine.New(outside), webhook.New(outside), deployment.NewCanary(outside),
		deployment.NewEnvironment(outside), backup.NewBackup(outside), backup.NewRecover(outside), newCompletion(outside),
	)
	complete(root, outside)
	return root
}
