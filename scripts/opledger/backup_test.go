package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestBackup: a ledger in a file is copied, never over another file; for Firestore the error names
// its own backups.
func TestBackup(t *testing.T) {
	t.Parallel()
	f := newFile(t)
	f.register("batches/a")
	path := filepath.Join(t.TempDir(), "backup.db")
	if s := cli(t, nil, "backup", path, "--store", f.store()).want(t, exitDone); s.out != "backed up to "+path+"\n" {
		t.Errorf("%q", s.out)
	}
	if s := cli(t, nil, "list", "--store", "sqlite:"+path).want(t, exitDone); !strings.Contains(s.out, "batches/a") {
		t.Errorf("%s", s.out)
	}
	cli(t, nil, "backup", path, "--store", f.store()).want(t, exitFailed, "file exists").complaint(t)
	cli(t, []string{"GOOGLE_CLOUD_PROJECT=p"}, "backup", path, "--store", "firestore").want(t, exitUsage,
		"gcloud firestore backups").complaint(t)
	cli(t, nil, "backup", path, "--store", "sqlite:"+filepath.Join(t.TempDir(), "none.db")).want(t, exitUnread,
		"there is no ledger").complaint(t)
}
