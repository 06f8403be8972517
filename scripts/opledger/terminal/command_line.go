package terminal

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opledger/opledger/scripts/opledger/phrase"
)

// CommandLine is the command as it was called, without arguments: with every flag that was given.
func CommandLine(cmd *cobra.Command) string {
	line := cmd.CommandPath()
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, ok := f.Value.(pflag.SliceValue); ok {
			values = several.GetSlice()
		}
		for _, value := range values {
			line += " --" + f.Name + "=" + phrase.ShellWord(value)
		}
	})
	return line
}
