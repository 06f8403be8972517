package main

import "github.com/spf13/cobra"

func newQuarantine(outside environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "List, show, retry and resolve signed bodies that could not be read",
		Long: "A signed delivery that cannot be understood is kept whole until its retention ends. So are pings,\n" +
			"and events of a type that this revision does not know.",
		Example: "  opledger quarantine list\n" +
			"  opledger quarantine show msg_2x…",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newQuarantineList(outside), newQuarantineShow(outside), newQuarantineRetry(outside), newQuarantineResolve(outside),
	)
	return cmd
}
