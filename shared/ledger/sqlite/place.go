package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
)

// ErrGone: the file at the ledger's path is not the one that was opened. It was moved, deleted or
// replaced, and what is written to the opened one is lost to every process that opens the path.
var ErrGone = errors.New("the ledger's file is not where it was opened")

// InPlace returns ErrGone where the file was moved, deleted or replaced since it was opened. Commits
// check it, too.
func (s *Store) InPlace() error {
	if s.file == nil { // opened to be read alone
		return nil
	}
	switch now, err := os.Stat(s.path); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrGone, err)
	case !os.SameFile(now, s.file):
		return fmt.Errorf("%w: another file is at %s", ErrGone, s.path)
	default:
		return nil
	}
}

// A connector opens the connections of a store's file, and none where the file is not in its place: beside another
// file, such as an empty one, SQLite takes the log of this one for that file's, or deletes it. A store may open a
// connection at any time, when more reads run at once than before.
type connector struct {
	store *Store
	dsn   string
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	if err := c.store.InPlace(); err != nil {
		return nil, err
	}
	return c.Driver().Open(c.dsn)
}

// Driver implements driver.Connector.
func (connector) Driver() driver.Driver { return new(sqlite.Driver) }
