package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// The bounds of one transaction of Expire, so that no commit waits long for it.
const (
	expireDocuments = 500
	vacuumPages     = 250
)

// Expire deletes every document whose expireAt has passed, and returns how many it deleted, also with an
// error. Firestore does this by itself. It deletes in small transactions, and others commit between two
// of them. Then it returns the pages that are free to the file system, and truncates the log beside the
// file; a reader may keep the log as long as it was, until the next time. For a day after its clock has
// leapt it deletes nothing: what seems to have expired may be alive [L3].
func (s *Store) Expire(ctx context.Context) (int64, error) {
	if s.write == nil {
		return 0, errReadOnly
	}
	now, leapt := s.clock.read()
	var other int64 // of another process
	if err := s.read.QueryRowContext(ctx, "SELECT leapt FROM sequence").Scan(&other); err != nil {
		return 0, classify("reading when the clock leapt", err)
	}
	if now.Sub(leapt) < stillFor || now.Sub(time.UnixMicro(other)).Abs() < stillFor {
		return 0, nil
	}
	deleted, err := s.inChunks(ctx, func(ctx context.Context, tx *sql.Tx) (int64, error) {
		result, err := tx.ExecContext(ctx, `DELETE FROM documents WHERE rowid IN
			(SELECT rowid FROM documents WHERE expire_at <= ? ORDER BY expire_at LIMIT ?)`, now.UnixMicro(), expireDocuments)
		if err != nil {
			return 0, err
		}
		return result.RowsAffected()
	})
	if err != nil {
		return deleted, classify("deleting expired documents", err)
	}
	if _, err := s.inChunks(ctx, vacuum); err != nil {
		return deleted, classify("returning free pages of the file", err)
	}
	// It returns a row, which says whether a reader or another process kept it from the end: no error.
	_, err = s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return deleted, classify("truncating the log beside the file", err)
}

// inChunks makes chunks, each in a transaction of its own, until one did nothing, and returns the sum
// of what they did. Between two it waits for as long as one took: other processes, which cannot queue
// here, have the file for half of the time.
func (s *Store) inChunks(
	ctx context.Context, chunk func(context.Context, *sql.Tx) (int64, error),
) (sum int64, err error) {
	for {
		began := time.Now()
		var did int64
		err := s.join(ctx, &member{single: true, write: func(ctx context.Context, tx *sql.Tx, _ int64) (err error) {
			did, err = chunk(ctx, tx)
			return err
		}})
		if err != nil { // a caller that left must not read what the group goes on to count
			return sum, err
		}
		if did == 0 {
			return sum, nil
		}
		sum += did
		select {
		case <-ctx.Done():
			return sum, ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
}

// vacuum returns free pages to the file system, and how many. It does nothing in a file of an older
// revision, which has no incremental vacuum.
func vacuum(ctx context.Context, tx *sql.Tx) (pages int64, err error) {
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() { // a row for each page, which is moved as the row is read
		pages++
	}
	return pages, rows.Err()
}
