package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

func newBackup(outside environment) *cobra.Command {
	var store string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a ledger that is a file",
		Long: "Writes the ledger as it is now into a new file. It is safe while serve runs; copying the file by\n" +
			"hand is safe only while no process uses it. Firestore has its own backups: gcloud firestore backups\n" +
			"schedules create. infra/playbooks/restored.md describes how to start from a backup.",
		Example: "  opledger backup opledger-2026-11-21.backup --store sqlite:/var/lib/opledger/ledger.db",
		Args:    usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := findStore(outside, store)
			if err == nil && !where.IsFile() {
				err = errors.New("--store: the ledger is in Firestore, which has its own backups: " +
					"gcloud firestore backups schedules create")
			}
			if err != nil {
				return usageError{err}
			}
			opened, err := openStore(cmd.Context(), outside, where, true)
			if err != nil {
				return err
			}
			file, _ := opened.(*sqlite.Store) // checked above
			if err := errors.Join(file.Backup(cmd.Context(), args[0]), file.Close()); err != nil {
				return err
			}
			if outside.json {
				return printJSON(outside.out, map[string]string{"file": args[0]})
			}
			_, err = fmt.Fprintf(outside.out, "backed up to %s\n", phrase.Safe(args[0]))
			return err
		},
	}
	storeFlag(cmd, &store)
	jsonFlag(cmd, &outside)
	return cmd
}
