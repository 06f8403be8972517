package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/opledger/opledger/shared/ledger/sqlite"
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
	left, err := filepath.Glob(filepath.Join(folder, "opledger-*.db"+unfinished))
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	if err == nil {
		err = file.Backup(ctx, path+unfinished)
	}
	if err == nil {
		err = os.Rename(path+unfinished, path)
	}
	if err != nil {
		return path, nil, fmt.Errorf("making a backup in %s: %w", folder, err)
	}
	deleted, err = deleteOld(folder, filepath.Base(path), keep)
	return path, deleted, err
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
