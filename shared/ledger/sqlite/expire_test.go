package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/opledger/opledger/shared/ledger"
)

// An expiring is a document that expires.
type expiring struct {
	Text     string    `json:"text"`
	ExpireAt time.Time `json:"expireAt,omitzero"`
}

// expired opens a ledger with n documents that have expired, and one that has not.
func expired(t *testing.T, n int) (s *Store, path string) {
	t.Helper()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	path = filepath.Join(t.TempDir(), "ledger.db")
	s, err := Open(t.Context(), path, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	text := fmt.Sprintf("%01000d", 0)
	writes := []ledger.Write{{Path: "operations/stays", Data: expiring{text, time.Time{}}}}
	for i := range n {
		path := ledger.Path(fmt.Sprintf("operations/%d", i))
		writes = append(writes, ledger.Write{Path: path, Data: expiring{text, now}})
	}
	if _, err := s.Commit(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	return s, path
}

// many is more documents than three transactions of Expire delete.
const many = 3*expireDocuments + 1

// TestExpireInChunks: others commit while documents are deleted, since no transaction deletes many [L3].
func TestExpireInChunks(t *testing.T) {
	t.Parallel()
	s, _ := expired(t, many)
	count := func() (left int) {
		if err := s.read.QueryRowContext(t.Context(), "SELECT count(*) FROM documents").Scan(&left); err != nil {
			t.Error(err)
		}
		return left
	}
	before, most := count(), 0
	if _, err := s.write.ExecContext(t.Context(), `CREATE TEMP TABLE deletions (at INTEGER);
		CREATE TEMP TRIGGER deleted AFTER DELETE ON documents BEGIN
			INSERT INTO deletions SELECT last FROM main.sequence; END`); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Expire(t.Context()); err != nil || n != many || count() != before-many {
		t.Errorf("L3: deleted %d of %d, %v; %d are left", n, many, err, count())
	}
	err := s.write.QueryRowContext(t.Context(), "SELECT max(n) FROM (SELECT count(*) AS n FROM deletions GROUP BY at)").
		Scan(&most)
	if err != nil || most > expireDocuments {
		t.Errorf("L3: one transaction deleted %d documents, more than %d; %v", most, expireDocuments, err)
	}
}

// TestExpireReturnsPages: the file shrinks, and so does the log beside it [L3].
func TestExpireReturnsPages(t *testing.T) {
	t.Parallel()
	s, path := expired(t, many)
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if log := size(path + "-wal"); log < 1<<20 {
		t.Fatalf("the log has only %d bytes", log)
	}
	if _, err := s.Expire(t.Context()); err != nil {
		t.Fatal(err)
	}
	if file, log := size(path), size(path+"-wal"); file > 200<<10 || log > 0 {
		t.Errorf("L3: the file has %d bytes and its log %d", file, log)
	}
	if got, err := s.Get(t.Context(), "operations/stays"); err != nil || !got.Documents[0].Exists() {
		t.Errorf("L3: %+v, %v", got, err)
	}
}

// TestBackupReturnsPages: a file of an older revision keeps its free pages; its backup returns them.
func TestBackupReturnsPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	vacuumOf := func(path string, pragmas ...string) (kind int) {
		db, err := connect(path, url.Values{"_pragma": pragmas})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.QueryRowContext(t.Context(), "PRAGMA auto_vacuum").Scan(&kind); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS x (y); DROP TABLE x"); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		return kind
	}
	const none, incremental = 0, 2
	old, backup := filepath.Join(dir, "old.db"), filepath.Join(dir, "backup.db")
	vacuumOf(old, "auto_vacuum(NONE)", "journal_mode(WAL)")
	s, err := Open(t.Context(), old, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.Expire(t.Context()); err == nil {
		err = s.Backup(t.Context(), backup)
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if was, is := vacuumOf(old), vacuumOf(backup); was != none || is != incremental {
		t.Errorf("the file has vacuum %d and its backup %d", was, is)
	}
}

// TestExpireCutOff: what was deleted before the caller left is counted, and stays deleted.
func TestExpireCutOff(t *testing.T) {
	t.Parallel()
	s, _ := expired(t, many)
	ctx, cancel := context.WithCancel(t.Context())
	chunks := 0
	n, err := s.inChunks(ctx, func(ctx context.Context, tx *sql.Tx) (int64, error) {
		if chunks++; chunks == 2 {
			cancel()
		}
		return 7, nil
	})
	if n != 7 && n != 14 || !errors.Is(err, context.Canceled) {
		t.Errorf("L3: %d, %v", n, err)
	}
}
