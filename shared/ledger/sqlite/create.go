package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// create creates an empty file with mode 0600 where there is none, unless a log with commits lies there
// without its file: SQLite would delete it. SQLite creates a file after the pattern of an existing one.
// Opening and closing the file here would release the locks of every other handle in this process.
func create(ctx context.Context, path string) error {
	// The log is looked for first: another process that creates both makes the file first.
	log, logErr := os.Stat(logOf(path))
	file, err := os.Stat(path)
	if logErr == nil && log.Size() > 0 && (errors.Is(err, fs.ErrNotExist) || err == nil && file.Size() == 0) {
		return fmt.Errorf("its file is gone, and the last commits are in %s: move the file back beside it, and start "+
			"nothing on this path before; if the file was deleted, move the log away to begin a new ledger", logOf(path))
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil //nolint:nilerr // opening it returns the error
	}
	pattern, err := os.CreateTemp(filepath.Dir(path), ".opledger-*") // created with mode 0600
	if err != nil {
		return nil //nolint:nilerr // SQLite cannot create a file there either, and returns the error
	}
	defer os.Remove(pattern.Name()) //nolint:errcheck // an empty file stays
	if err := pattern.Close(); err != nil {
		return err
	}
	db, err := connect(path, url.Values{"modeof": {pattern.Name()}, "_pragma": {pragmaBusy(busyTimeout)}})
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(ctx), db.Close())
}

// logOf returns the path of the write-ahead log of the file at path, which SQLite keeps beside the file
// that a link names.
func logOf(path string) string {
	if to, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path + "-wal"
}

// emptyLog writes every commit of the log to the file, wherever that is now, and truncates the log.
func (s *Store) emptyLog(ctx context.Context) error {
	var busy, all, written int
	err := s.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &all, &written)
	if err == nil && (written < all || all < 0) { // -1: another process has begun to do the same
		err = errors.New("another process reads it")
	}
	if err != nil {
		return fmt.Errorf("the ledger's file was moved, and its last commits are still in %s: put the file back beside "+
			"it before anything is started: %w", logOf(s.path), err)
	}
	return nil
}
