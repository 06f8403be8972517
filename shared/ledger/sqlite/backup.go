package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Backup writes the whole ledger into a new file at path, readable by its owner alone. Other
// processes may go on writing; what they commit after Backup began is not in it. An existing file
// is refused. After an error no file is left.
func (s *Store) Backup(ctx context.Context, path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // SQLite writes into an empty file
	if err != nil {
		return fmt.Errorf("making the backup: %w", err)
	}
	_, err = s.read.ExecContext(ctx, "VACUUM INTO ?", path)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(fmt.Errorf("backing the ledger up to %s: %w", path, err), os.Remove(path))
	}
	return nil
}
