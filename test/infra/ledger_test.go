package infra_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

// guard finds what keeps the ledger's module from being destroyed.
var guard = regexp.MustCompile(`(?ms)^resource "terraform_data" "kept" \{\n.*?^\}\n`)

// TestTheGuardGoesFirst: the guard of the ledger depends on everything in its module, so that
// nothing of it is destroyed before the guard has failed.
func TestTheGuardGoesFirst(t *testing.T) {
	t.Parallel()
	text := read(t, "infra/ledger/main.tf")
	kept := guard.FindString(text)
	first := append(dependencies(kept), one(t, kept, `triggers_replace = (google_\w+\.\w+)\.id\n`)[1])
	made := 0
	for _, block := range resource.FindAllStringSubmatch(text, -1) {
		made++
		if address := block[1] + "." + block[2]; !slices.Contains(first, address) {
			t.Errorf("%s is destroyed although the ledger is kept", address)
		}
	}
	if made < 4 {
		t.Errorf("the module makes %d kinds of things: has its form changed?", made)
	}
}

// TestDestroyKeepsTheLedger runs the guard with Terraform itself, before a thing that leaves a file
// when it is destroyed, in the place of the ledger's indexes. A protected ledger is not touched, and
// the error says the command after which Terraform has forgotten it; one that is not protected is
// destroyed.
func TestDestroyKeepsTheLedger(t *testing.T) {
	t.Parallel()
	harness.Program(t, "terraform", "the guard of the ledger is not tried")
	dir := t.TempDir()
	ledger := `variable "delete_protection" { type = bool }
resource "terraform_data" "index" {
  provisioner "local-exec" {
    when    = destroy
    command = "touch stripped"
  }
}
` + regexp.MustCompile(`google_firestore_\w+\.\w+`).ReplaceAllString(
		guard.FindString(read(t, "infra/ledger/main.tf")), "terraform_data.index")
	write(t, filepath.Join(dir, "ledger", "main.tf"), ledger)
	write(t, filepath.Join(dir, "main.tf"), `variable "delete_protection" { default = true }
module "ledger" {
  source            = "./ledger"
  delete_protection = var.delete_protection
}
`)
	run := func(args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), "terraform", append([]string{"-chdir=" + dir}, args...)...)
		command.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
		out, err := command.CombinedOutput()
		return string(out), err
	}
	works := func(args ...string) {
		t.Helper()
		if out, err := run(args...); err != nil {
			t.Fatalf("terraform %q: %v\n%s", args, err, out)
		}
	}
	stripped := func(want bool) {
		t.Helper()
		_, err := os.Stat(filepath.Join(dir, "stripped"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if got := err == nil; got != want {
			t.Fatalf("the ledger was stripped: %t", got)
		}
	}

	works("init", "-no-color")
	works("apply", "-no-color", "-auto-approve")
	out, err := run("destroy", "-no-color", "-auto-approve")
	way := regexp.MustCompile(`terraform (state rm module\.ledger) `).FindStringSubmatch(out)
	if err == nil || way == nil {
		t.Fatalf("destroy ended with %v and says %s", err, out)
	}
	stripped(false)
	works(strings.Fields(way[1])...)
	works("destroy", "-no-color", "-auto-approve")
	stripped(false)

	works("apply", "-no-color", "-auto-approve")
	works("apply", "-no-color", "-auto-approve", "-var=delete_protection=false")
	works("destroy", "-no-color", "-auto-approve", "-var=delete_protection=false")
	stripped(true)
}

// TestTheModuleHasNoProvider: with a provider block of its own it could not be used with for_each.
func TestTheModuleHasNoProvider(t *testing.T) {
	t.Parallel()
	if text := terraform(t); strings.Contains(text, "\nprovider ") {
		t.Error("a module with a provider block has no for_each, count or depends_on")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
