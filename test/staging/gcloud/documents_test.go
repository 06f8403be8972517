package gcloud

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/documents"
)

// TestDocumentedDeployment: the commands of the documents about a deployment succeed as printed, in
// a copy of the scripts and in a project where everything is deployed. They know each option, and
// gcloud, Terraform and opledger are called.
func TestDocumentedDeployment(t *testing.T) {
	t.Parallel()
	from, err := root()
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range documents.For(t, from, "TestDocumentedDeployment") {
		t.Run(strings.ReplaceAll(block.Document, "/", ":")+":"+block.Commands[0].Text, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copyFiles(t, filepath.Join(from, "infra"), filepath.Join(dir, "infra"))
			if err := os.Symlink(filepath.Join(from, "scripts"), filepath.Join(dir, "scripts")); err != nil {
				t.Fatal(err)
			}
			script := "set -e\nopledger() { go run ./scripts/opledger \"$@\"; }\n"
			for _, command := range block.Commands {
				script += command.Text + "\n"
			}
			r := bashIn(t, dir, deployed(t).withOnly(t), "opledger\n", "-c", script)
			if r.code != 0 {
				t.Errorf("it ended with %d: %s\n%s", r.code, r.stderr, script)
			}
			if len(r.calls) == 0 && !strings.Contains(script, "scripts/stage dist") {
				t.Errorf("nothing was called: %s", script)
			}
		})
	}
}

// copyFiles copies the files of a folder, and none of the folders in it. What a document says to
// write there must not reach the source tree.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err == nil {
		err = os.Mkdir(to, 0o700)
	}
	for _, entry := range entries {
		if err != nil || entry.IsDir() {
			continue
		}
		var text []byte
		if text, err = os.ReadFile(filepath.Join(from, entry.Name())); err == nil {
			err = os.WriteFile(filepath.Join(to, entry.Name()), text, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
