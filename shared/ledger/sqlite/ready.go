package sqlite

import (
	"context"
	"errors"
	"net/url"
)

// probeBytes is more than a connection keeps in memory, so that SQLite writes it to the disk before
// the transaction ends.
const probeBytes = 64 << 10

// Ready returns nil if the ledger can be written: it writes to the file, and rolls that back. A full
// disk is found so, and a file that is not in its place.
func (s *Store) Ready(ctx context.Context) error {
	if s.write == nil {
		return errReadOnly
	}
	err := s.InPlace()
	if err == nil {
		err = s.probe(ctx)
	}
	return classify("trying to write "+s.path, err)
}

func (s *Store) probe(ctx context.Context) error {
	db, err := connect(s.path, url.Values{
		"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {pragmaBusy(busyTimeout), "cache_size(1)"},
	})
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO documents (path, collection, parent, version, body)
			VALUES ('', '', '', 0, hex(zeroblob(?)))`, probeBytes/2)
		err = rollBack(tx, err)
	}
	return errors.Join(err, db.Close())
}
