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
			for _, folder := range []string{"scripts", "infra"} {
				if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(from, folder))); err != nil {
					t.Fatal(err)
				}
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
