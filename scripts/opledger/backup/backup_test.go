package backup_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opledger/opledger/scripts/opledger/root"
	"github.com/opledger/opledger/scripts/opledger/terminal"
	"github.com/opledger/opledger/test/commandtest"
)

// TestBackup: a ledger in a file is copied, never over another file; for Firestore the error names
// its own backups.
func TestBackup(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	f.Register("batches/a")
	path := filepath.Join(t.TempDir(), "backup.db")
	if s := commandtest.Run(t, nil, "backup", path, "--store", f.Store()).Want(t,
		terminal.ExitDone); s.Out != "backed up to "+path+"\n" {
		t.Errorf("%q", s.Out)
	}
	if s := commandtest.Run(t, nil, "list", "--store", "sqlite:"+path).Want(t,
		terminal.ExitDone); !strings.Contains(s.Out, "batches/a") {
		t.Errorf("%s", s.Out)
	}
	commandtest.Run(t, nil, "backup", path, "--store", f.Store()).Want(t, terminal.ExitFailed, "file exists").Complaint(t)
	commandtest.Run(t, []string{"GOOGLE_CLOUD_PROJECT=p"}, "backup", path, "--store", "firestore").Want(t,
		terminal.ExitUsage,
		"gcloud firestore backups").Complaint(t)
	commandtest.Run(t, nil, "backup", path, "--store", "sqlite:"+filepath.Join(t.TempDir(), "none.db")).Want(t,
		terminal.ExitUnread,
		"there is no ledger").Complaint(t)
}

// TestBackupKeep: of the backups in a folder the newest N stay, and each can be opened. A backup that was not finished
// counts as none, and what has another name stays.
func TestBackupKeep(t *testing.T) {
	t.Parallel()
	f := commandtest.NewFile(t)
	folder := filepath.Join(t.TempDir(), "of [this]*") // no pattern
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"notes.db", "opledger-20261121T020000Z.db.unfinished", "opledger-20261120T020000Z.db-wal", "opledger-2026.db",
		"opledger-20991120T020000Z.db", // by a clock that was fast
	} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept := []string{"notes.db", "opledger-2026.db", "opledger-20261120T020000Z.db-wal", "opledger-20991120T020000Z.db"}
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	for day, name := range []string{"batches/a", "batches/b", "batches/c", "batches/d"} {
		f.Register(name)
		now = now.AddDate(0, 0, 1)
		made := now.Format("opledger-20060102T150405Z.db")
		var out, stderr bytes.Buffer
		code := root.Run(t.Context(), []string{"backup", "--keep", "3", folder, "--store", f.Store()}, terminal.Environment{
			Now: func() time.Time { return now }, In: strings.NewReader(""), Out: &out, Err: &stderr,
		})
		s := commandtest.Said{Code: code, Out: out.String(), Err: stderr.String()}.Want(t, terminal.ExitDone)
		if !strings.HasPrefix(s.Out, "backed up to "+filepath.Join(folder, made)+"; old backups deleted: ") {
			t.Errorf("%q", s.Out)
		}
		s = commandtest.Run(t, nil, "list", "--store", "sqlite:"+filepath.Join(folder, made)).Want(t, terminal.ExitDone)
		if strings.Count(s.Out, "batches/") != day+1 {
			t.Errorf("the backup of day %d has %s", day, s.Out)
		}
		for _, beside := range []string{"-wal", "-shm"} {
			_ = os.Remove(filepath.Join(folder, made+beside)) // of the list
		}
		if kept = append(kept, made); day >= 2 {
			kept = slices.Delete(kept, 3, 4) // the oldest: the one in the future counts
		}
		slices.Sort(kept)
		if got := namesIn(t, folder); !slices.Equal(got, kept) {
			t.Errorf("day %d: there are %q, want %q", day, got, kept)
		}
	}
	commandtest.Run(t, nil, "backup", "--keep", "0", folder, "--store", f.Store()).Want(t, terminal.ExitUsage,
		"--keep: it must be at least 1, not 0").Complaint(t)
	commandtest.Run(t, nil, "backup", "--keep", "2", filepath.Join(folder, "none"), "--store", f.Store()).Want(t,
		terminal.ExitFailed, "no such file").Complaint(t)
}

func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
