// Package backup has the commands that copy a ledger, and bring one that was restored up to date with the log.
package backup

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/opledger/opledger/scripts/opledger/open"
	"github.com/opledger/opledger/scripts/opledger/phrase"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/shared/ledger/sqlite"
)

// NewBackup makes opledger backup.
func NewBackup(outside terminal.Environment) *cobra.Command {
	var keep int
	cmd := &cobra.Command{
		Use:   "backup FILE | backup --keep N FOLDER",
		Short: "Copy a ledger that is a file",
		Long: "Writes the ledger as it is now into a new file. It is safe while serve runs; copying the file by\n" +
			"hand is safe only while no process uses it. Firestore has its own backups: gcloud firestore backups\n" +
			"schedules create. infra/playbooks/restored.md describes how to start from a backup.\n\n" +
			"With --keep the new file is named after the time, in a folder that is there, and then all but the\n" +
			"newest N files of such names are deleted. infra/machine has a systemd timer that does so daily. What\n" +
			"jobs keep is not in a backup: it is in the folder beside the ledger whose name ends with .jobs, in\n" +
			"files that never change.",
		Example: "  opledger backup opledger-2026-11-21.backup --store sqlite:/var/lib/opledger/ledger.db\n" +
			"  opledger backup --keep 14 /var/backups/opledger",
		Args: terminal.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := open.Find(outside)
			if cmd.Flags().Changed("keep") && keep < 1 {
				err = errors.Join(err, fmt.Errorf("--keep: it must be at least 1, not %d", keep))
			}
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
			if keep > 0 {
				path, deleted, err := rotate(cmd.Context(), file, args[0], keep, outside.Time())
				if err := errors.Join(err, file.Close()); err != nil {
					return err
				}
				return outside.Print(map[string]any{"file": path, "deleted": deleted}, "backed up to %s; old backups deleted: %d",
					phrase.Safe(path), len(deleted))
			}
			if err := errors.Join(file.Backup(cmd.Context(), args[0]), file.Close()); err != nil {
				return err
			}
			return outside.Print(map[string]string{"file": args[0]}, "backed up to %s", phrase.Safe(args[0]))
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "make a backup in a folder, and keep the newest N of it")
	open.LedgerFlags(cmd, &outside)
	return cmd
}
