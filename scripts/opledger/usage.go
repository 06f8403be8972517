package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/shared/diag"
)

// seeHelp makes an error of use, which says where to read on.
func seeHelp(cmd *cobra.Command, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if strings.HasSuffix(err.Error(), "?") {
		return usageError{fmt.Errorf("%w See %s --help", err, cmd.CommandPath())}
	}
	return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
}

// usageArgs makes wrong arguments an error of use.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch err := check(cmd, args); {
		case err == nil:
			return nil
		case cmd.HasAvailableSubCommands():
			var commands []string
			for _, c := range cmd.Commands() {
				if c.IsAvailableCommand() {
					commands = append(commands, c.Name())
				}
			}
			return seeHelp(cmd, "there is no command %s%s", diag.Quote(args[0]), diag.DidYouMean(args[0], commands))
		default:
			return seeHelp(cmd, "it is used as %q, and was given %s", cmd.UseLine(), given(args))
		}
	}
}

// given says which arguments there are.
func given(args []string) string {
	if len(args) == 0 {
		return "no argument"
	}
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = diag.Quote(arg)
	}
	return strings.Join(quoted, " ")
}

// flagError says what is wrong with a flag, and what it takes, in place of the library's words.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		empty   *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return seeHelp(cmd, "there is no flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		what := ""
		if meant, ok := diag.Nearest(unknown.GetSpecifiedName(), flags); ok {
			what = "; did you mean --" + meant + "?"
		}
		return seeHelp(cmd, "there is no flag --%s%s", unknown.GetSpecifiedName(), what)
	case errors.As(err, &empty):
		return seeHelp(cmd, "--%s: it needs a value, %s", empty.GetFlag().Name, kindOf(empty.GetFlag()))
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		return seeHelp(cmd, "--%s: %w", invalid.GetFlag().Name, diag.Duration(invalid.GetValue()))
	case errors.As(err, &invalid):
		return seeHelp(cmd, "--%s: it must be %s, not %s", invalid.GetFlag().Name, kindOf(invalid.GetFlag()), diag.Quote(invalid.GetValue()))
	default:
		return seeHelp(cmd, "%w", err)
	}
}

// kindOf says what a flag takes.
func kindOf(f *pflag.Flag) string {
	switch kind := f.Value.Type(); kind {
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	case "uint64":
		return "a whole number that is not below zero"
	case "float64":
		return "a number"
	case "string", "stringSlice", "stringArray":
		return "a text"
	default:
		return "a " + kind
	}
}

// together is what the library says of flags that exclude each other; it has no type for it.
var together = regexp.MustCompile(`^if any flags in the group \[.*\] are set none of the others can be; \[(.*)\] were all set$`)

// ofTogether makes an error of use of flags that exclude each other.
func ofTogether(cmd *cobra.Command, err error) error {
	match := together.FindStringSubmatch(err.Error())
	if match == nil {
		return err
	}
	return seeHelp(cmd, "--%s cannot be used together; choose one", strings.ReplaceAll(match[1], " ", " and --"))
}
