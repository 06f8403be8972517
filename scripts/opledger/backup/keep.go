package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/ledger/sqlite"
	"github.com/opledger/opledger/shared/storage"
)

// made matches the name of a backup that backup --keep made; names in order are times in order.
var made = regexp.MustCompile(`^opledger-\d{8}T\d{6}Z\.db$`)

// unfinished is what the name of a backup ends with until all of it is on the disk.
const unfinished = ".unfinished"

// rotate makes a backup in a folder, named after the time, and then deletes all but the newest keep that it made
// there. What has another name stays. A crash leaves an unfinished backup, which counts as none and which the next
// one deletes. Where the backup fails nothing is deleted.
func rotate(
	ctx context.Context, file *sqlite.Store, folder string, keep int, now time.Time,
) (path string, deleted []string, err error) {
	path = filepath.Join(folder, now.UTC().Format("opledger-20060102T150405Z.db"))
	err = deleteUnfinished(folder)
	if err == nil {
		err = file.Backup(ctx, path+unfinished)
	}
	if err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err == nil { // before an old one is deleted, whose end could reach the disk first
		err = syncFolder(folder)
	}
	if err != nil {
		return path, nil, fmt.Errorf("making a backup in %s: %w", folder, err)
	}
	deleted, err = deleteOld(folder, filepath.Base(path), keep)
	return path, deleted, err
}

func syncFolder(folder string) error {
	root, err := os.OpenRoot(folder)
	if err == nil {
		err = errors.Join(storage.SyncFolder(root, "."), root.Close())
	}
	return err //nolint:wrapcheck // the caller says what was attempted
}

// deleteUnfinished deletes the backups in a folder that a crash left unfinished.
func deleteUnfinished(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, entry := range entries {
		if name, cut := strings.CutSuffix(entry.Name(), unfinished); cut && made.MatchString(name) {
			err = errors.Join(err, os.Remove(filepath.Join(folder, entry.Name())))
		}
	}
	return err //nolint:wrapcheck // the caller says what was attempted
}

// deleteOld deletes the backups in a folder but for the newest keep. The one that was just made is kept in any case,
// even if clocks of before were fast.
func deleteOld(folder, newest string, keep int) (deleted []string, err error) {
	entries, err := os.ReadDir(folder) // in the order of names
	if err != nil {
		return nil, fmt.Errorf("looking for old backups: %w", err)
	}
	var old []string
	for _, entry := range entries {
		if made.MatchString(entry.Name()) && entry.Name() != newest {
			old = append(old, filepath.Join(folder, entry.Name()))
		}
	}
	for _, name := range old[:max(0, len(old)-(keep-1))] {
		if failed := os.Remove(name); failed != nil {
			err = errors.Join(err, fmt.Errorf("deleting an old backup: %w", failed))
			continue
		}
		deleted = append(deleted, name)
	}
	return deleted, err
}
