package terminal

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/effect/spec"
)

// CommandLine is the command as it was called, without arguments: with every flag that was given, and what looks
// like a secret in their URLs masked.
func CommandLine(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, value := range values {
			line += " --" + f.Name + "=" + phrase.ShellWord(spec.Masked(value))
		}
	})
	return line
}
