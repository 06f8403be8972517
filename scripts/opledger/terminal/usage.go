package terminal

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/shared/diag"
)

// A usageError is a mistake in the command line or in the settings. The exit code is then 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Usage returns an error that is a mistake in the command line or in the settings.
func Usage(err error) error { return usageError{err} }

// Usagef returns a usageError that ends with the command whose help to read.
func Usagef(cmd *cobra.Command, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if strings.HasSuffix(err.Error(), "?") {
		return Usage(fmt.Errorf("%w See %s --help", err, cmd.CommandPath()))
	}
	return Usage(fmt.Errorf("%w; see %s --help", err, cmd.CommandPath()))
}

// Args turns the error of an argument check into a usageError, in our own words.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
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
			return Usagef(cmd, "there is no command %s%s", diag.Quote(args[0]), diag.DidYouMean(args[0], commands))
		default:
			return Usagef(cmd, "%s; write %s", foundArgs(args), cmd.UseLine())
		}
	}
}

// Group makes a command that does nothing but have others below it: by itself it prints its help.
func Group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = Args(cobra.NoArgs)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// foundArgs says which arguments there are, where others belong.
func foundArgs(args []string) string {
	if len(args) == 0 {
		return "an argument is missing"
	}
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = diag.Quote(arg)
	}
	return "wrong arguments: " + strings.Join(quoted, " ")
}

// Required adds a text flag that must be given.
func Required(cmd *cobra.Command, value *string, name, usage string) {
	cmd.Flags().StringVar(value, name, "", usage+"; required")
	BeforeRun(cmd, func() error {
		if *value == "" {
			return Usagef(cmd, "--%s is missing", name)
		}
		return nil
	})
}

// Selectors makes flags that choose, such as one of several ledgers or some of all operations, refuse an
// empty value. It is most likely that of a variable which is not set, and would choose all, or another.
func Selectors(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		f := cmd.Flags().Lookup(name)
		f.Value, f.DefValue = selector{f.Value}, "" // without a default --help shows none, also of a list
	}
}

// A selector is the value of a flag that chooses.
type selector struct{ pflag.Value }

// errEmpty: the value of a selector is empty.
var errEmpty = errors.New("it is empty; write a value, or leave the flag out")

// Set is the value's own, of a text that is not empty.
func (s selector) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errEmpty
	}
	return s.Value.Set(text)
}

// Exclusive refuses a command line that sets more than one of these flags. Cobra's own check
// returns an error without a type.
func Exclusive(cmd *cobra.Command, names ...string) {
	BeforeRun(cmd, func() error {
		var set []string
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				set = append(set, "--"+name)
			}
		}
		if len(set) > 1 {
			return Usagef(cmd, "%s cannot be used together; choose one", strings.Join(set, " and "))
		}
		return nil
	})
}

// BeforeRun makes a command check its flags before it runs.
func BeforeRun(cmd *cobra.Command, check func() error) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := check(); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// FlagError says in our own words what is wrong with a flag, and which values it takes.
func FlagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		empty   *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return Usagef(cmd, "there is no flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unknown):
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		what := ""
		if meant, ok := diag.Nearest(unknown.GetSpecifiedName(), flags); ok {
			what = "; did you mean --" + meant + "?"
		}
		return Usagef(cmd, "there is no flag --%s%s", unknown.GetSpecifiedName(), what)
	case errors.As(err, &empty):
		return Usagef(cmd, "--%s: it needs a value, %s", empty.GetFlag().Name, kindOf(empty.GetFlag()))
	case errors.As(err, &invalid) && errors.Is(err, errEmpty):
		return Usagef(cmd, "--%s: %w", invalid.GetFlag().Name, errEmpty)
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		return Usagef(cmd, "--%s: %w", invalid.GetFlag().Name, diag.Duration(invalid.GetValue()))
	case errors.As(err, &invalid):
		return Usagef(cmd, "--%s: it must be %s, not %s",
			invalid.GetFlag().Name, kindOf(invalid.GetFlag()), diag.Quote(invalid.GetValue()))
	default:
		return Usagef(cmd, "%w", err)
	}
}

// kindOf describes the values of a flag.
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

// Prefixed names the flag or variable that an error is about; nil stays nil.
func Prefixed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// FlagOf is the flag of an option: maxAttempts is --max-attempts.
func FlagOf(field string) string {
	flag := "--"
	for _, letter := range field {
		if unicode.IsUpper(letter) {
			flag += "-"
		}
		flag += string(unicode.ToLower(letter))
	}
	return flag
}
