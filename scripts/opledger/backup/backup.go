// Package backup has the commands that copy a ledger, and bring one that was restored up to date with the log.
package backup

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// NewBackup makes opledger backup.
func NewBackup(outside terminal.Environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy a ledger that is a file",
		Long: "Writes the ledger as it is now into a new file. It is safe while serve runs; copying the file by\n" +
			"hand is safe only while no process uses it. Firestore has its own backups: gcloud firestore backups\n" +
			"schedules create. infra/playbooks/restored.md describes how to start from a backup.",
		Example: "  opledger backup opledger-2026-11-21.backup --store sqlite:/var/lib/opledger/ledger.db",
		Args:    terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := open.Find(outside)
			if err == nil && !where.IsFile() {
				err = errors.New("--store: the ledger is in Firestore, which has its own backups: " +
					"gcloud firestore backups schedules create")
			}
			if err != nil {
				return terminal.Usage(err)
			}
			opened, err := open.Store(cmd.Context(), outside, where, true)
			if err != nil {
				return err
			}
			file, _ := opened.(*sqlite.Store) // checked above
			if err := errors.Join(file.Backup(cmd.Context(), args[0]), file.Close()); err != nil {
				return err
			}
			return outside.Print(map[string]string{"file": args[0]}, "backed up to %s", phrase.Safe(args[0]))
		},
	}
	open.LedgerFlags(cmd, &outside)
	return cmd
}
