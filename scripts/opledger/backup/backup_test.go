package backup_test

import (
	"path/filepath"
	"strings"
	"testing"

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
