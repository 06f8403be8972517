package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// A still is a file that SQLite reads as one that nothing changes: it takes no lock, and keeps what it
// has read. What it reads is true only while the file is the one that was opened.
type still struct {
	path string
	mu   sync.RWMutex // a reader holds it while it reads; who opens the file again holds it alone
	// file is the one that was opened; nil: it was opened again as any other, because a program has it
	// open.
	file fs.FileInfo
}

// openStill opens a file that nothing changes.
func openStill(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	file, err := os.Stat(path) // before it is opened: a change in between is seen
	if err != nil {
		return nil, err
	}
	s, err := tryReader(ctx, path, now, url.Values{"immutable": {"1"}})
	if err == nil {
		s.still = &still{path: path, file: file}
	}
	return s, err
}

// changed reports whether the file is another one by now, was written to, or has commits in its log.
func (s *still) changed() bool {
	if s.file == nil {
		return false
	}
	file, err := os.Stat(s.path)
	if err != nil || !os.SameFile(file, s.file) || file.Size() != s.file.Size() ||
		!file.ModTime().Equal(s.file.ModTime()) {
		return true
	}
	log, err := os.Stat(s.path + "-wal")
	return err == nil && log.Size() > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
}

// maxReopens bounds how often one read opens the file again.
const maxReopens = 3

// reading runs a read of the file. Where the file has changed by its end, the file is opened again, and
// read again.
func (s *Store) reading(ctx context.Context, read func() error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select { // not in database/sql: it would watch the context of the whole read
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.still == nil {
		return read()
	}
	for range maxReopens {
		unchanged, err := s.readStill(read)
		if unchanged {
			return err
		}
		if err := s.reopen(ctx); err != nil {
			return fmt.Errorf("%w: another program has changed the ledger's file, which cannot be opened again: %w",
				ledger.ErrUnavailable, err)
		}
	}
	return fmt.Errorf("%w: another program changes the ledger's file all the time", ledger.ErrUnavailable)
}

// readStill runs a read, and reports whether the file was the one that was opened until after it.
func (s *Store) readStill(read func() error) (unchanged bool, err error) {
	s.still.mu.RLock()
	defer s.still.mu.RUnlock()
	err = read()
	return !s.still.changed(), err
}

// reopen opens the file again, where no other read has done so.
func (s *Store) reopen(ctx context.Context) error {
	s.still.mu.Lock()
	defer s.still.mu.Unlock()
	if !s.still.changed() {
		return nil
	}
	fresh, err := openReader(ctx, s.still.path, s.now)
	if err != nil {
		return err
	}
	old := s.read
	s.read, s.get, s.queries, s.indexed = fresh.read, fresh.get, fresh.queries, fresh.indexed
	s.still.file = nil
	if fresh.still != nil {
		s.still.file = fresh.still.file
	}
	return old.Close()
}
