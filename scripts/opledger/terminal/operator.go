package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"
)

// OperatorName returns the user of this machine, who is recorded with a decision.
func OperatorName() (string, error) {
	who, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("finding the user of this machine: %w; name one with --by", err)
	}
	return who.Username, nil
}

// ByFlag adds --by to a command that records who asks for it: the user of this machine, unless another is named.
// A --dry-run records nothing, and needs no one: not in a container, either, whose user has no name.
func ByFlag(cmd *cobra.Command, by *string, usage string) {
	cmd.Flags().StringVar(by, "by", "", usage+" (default the user of this machine)")
	BeforeRun(cmd, func() (err error) {
		if dryRun, _ := cmd.Flags().GetBool("dry-run"); *by == "" && !dryRun { // an error is of a command without one
			*by, err = OperatorName()
		}
		return err
	})
}

// YesFlag adds --yes to a command that asks.
func YesFlag(cmd *cobra.Command, outside *Environment) {
	cmd.Flags().BoolVar(&outside.Yes, "yes", false, "do not ask")
}

// Agree asks unless the command line has --yes. It returns an error that begins with kept, such as "nothing
// was deleted", where the answer is not yes. With --json it asks nothing: stderr has one object on each line.
func Agree(ctx context.Context, outside Environment, question, kept string) error {
	switch {
	case outside.Yes:
		return nil
	case outside.JSON:
		return Usage(errors.New(kept + "; with --json no question is asked: pass --yes"))
	case !confirmed(ctx, outside, question):
		return errors.New(kept + "; answer y, or pass --yes")
	}
	return nil
}

// confirmed asks on stderr and reads the answer from stdin; no answer means no, and so does an
// interrupt.
func confirmed(ctx context.Context, outside Environment, question string) bool {
	_, _ = fmt.Fprint(outside.Err, question+" [y/N] ") // without stderr there is no question, and so no answer
	answer := make(chan string, 1)
	go func() { // a read of a terminal cannot be ended
		line, _ := bufio.NewReader(outside.In).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case line := <-answer:
		return line == "y" || line == "yes"
	case <-ctx.Done():
		_, _ = fmt.Fprintln(outside.Err) // the error gets a line of its own
		return false
	}
}
