package terminal_test

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/terminal"
)

// TestCommandLine: every flag that was given is there, quoted for a shell and without secrets, and none that was not.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{Use: "serve", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().Int("port", 8080, "")
	cmd.Flags().String("store", "", "")
	cmd.Flags().String("forward-to", "", "")
	cmd.Flags().Bool("schedule", true, "")
	cmd.Flags().StringSlice("allow-host", nil, "")
	cmd.SetArgs([]string{"--store", "sqlite:a b.db", "--schedule=false", "--allow-host", "x.example,y.example",
		"--forward-to", "https://ann:pass@h.example/hook"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	const want = "serve --allow-host=x.example --allow-host=y.example " +
		"--forward-to=https://masked@h.example/hook --schedule=false --store='sqlite:a b.db'"
	if got := terminal.CommandLine(cmd); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
