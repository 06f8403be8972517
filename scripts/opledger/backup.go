package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/shared/ledger/sqlite"
)

func newBackup(outside environment) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of a ledger that is a file",
		Long: "Writes the ledger as it stands into a new file, also while serve goes on. Copying the file by hand is safe only while\n" +
			"nothing uses it. Firestore has backups of its own: gcloud firestore backups schedules create. How to start from a\n" +
			"backup is in infra/playbooks/restored.md.",
		Example: "  opledger backup opledger-2026-11-21.backup --store sqlite:/var/lib/opledger/ledger.db",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := findStore(outside, store)
			if err == nil && where.SQLite == "" {
				err = errors.New("--store: the ledger is in Firestore, which makes its own backups: gcloud firestore backups schedules create")
			}
			if err != nil {
				return usageError{err}
			}
			opened, err := openStore(cmd.Context(), outside, where, true)
			if err != nil {
				return err
			}
			file, _ := opened.(*sqlite.Store) // it is in a file
			if err := errors.Join(file.Backup(cmd.Context(), args[0]), file.Close()); err != nil {
				return err
			}
			_, err = fmt.Fprintf(outside.out, "backed up to %s\n", dash(args[0]))
			return err
		},
	}
	storeFlag(cmd, &store)
	return cmd
}
