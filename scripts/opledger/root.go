package main

import (
	"context"
	"errors"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/httpfunc"
)

// run executes a command line and returns its exit code.
func run(ctx context.Context, args []string, outside environment) int {
	root := newRoot(outside)
	root.SetArgs(args)
	root.SetIn(outside.in)
	root.SetOut(outside.out)
	root.SetErr(outside.err)
	cmd, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(context.Cause(ctx), syscall.EPIPE):
		return exitPipe
	case errors.Is(err, errLogged):
		return exitFailed
	}
	outside.json = asksForJSON(cmd, args)
	if code := exitCode(err); code != exitUsage {
		outside.printError(code, onOneLine{err})
		return code
	}
	var request *httpfunc.Error // a refused registration lists its problems as texts
	if errors.As(err, &request) && len(request.Problems) > 0 {
		var problems []error
		for _, problem := range request.Problems {
			problems = append(problems, errors.New(problem))
		}
		err = errors.Join(problems...)
	}
	outside.printError(exitUsage, err)
	return exitUsage
}

// onOneLine hides joined errors from diag.Lines: a failure is one event, with what followed from
// it.
type onOneLine struct{ error }

func newRoot(outside environment) *cobra.Command {
	root := &cobra.Command{
		Use:     program,
		Version: versionText(debug.ReadBuildInfo()),
		Short:   "Record long-running Gemini operations and run the side effects of their end once",
		Long: "opledger records each completion of a long-running Gemini operation once, however often it\n" +
			"is delivered. It never rolls a finished operation back, and it runs the side effects of its\n" +
			"end until their outcome is known.",
		Example: "  opledger local\n" +
			"  opledger serve --port 9000\n" +
			"  opledger list --pending",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usageArgs(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate(program + " {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		newLocal(outside), newServe(outside), newConsole(outside), newStatus(outside), newList(outside), newShow(outside),
		newWait(outside),
		newSubmit(outside), newRegister(outside), newReconcile(outside), newReplay(outside),
		newAbandon(outside), newWaive(outside), newResolve(outside), newForget(outside), newIntent(outside),
		newQuarantine(outside), newWebhook(outside), newCanary(outside),
		newEnvironment(outside), newBackup(outside), newRecover(outside), newCompletion(outside),
	)
	complete(root, outside)
	return root
}
