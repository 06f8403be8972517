package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder returns the files under dir by their paths in it.
func folder(t *testing.T, dir string) files {
	t.Helper()
	found := files{}
	if err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			found[filepath.ToSlash(name)], err = os.ReadFile(path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func unzip(t *testing.T, path string) files {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	found := files{}
	for _, file := range archive.File {
		content, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		if found[file.Name], err = io.ReadAll(content); err != nil {
			t.Fatal(err)
		}
		if !file.Modified.Equal(epoch) {
			t.Errorf("%s has the time %v", file.Name, file.Modified)
		}
	}
	return found
}

// equal compares two sets of files.
func equal(t *testing.T, what string, got, want files) {
	t.Helper()
	for name := range want {
		if !bytes.Equal(got[name], want[name]) {
			t.Errorf("%s: %s differs, or is missing", what, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is too many", what, name)
		}
	}
}

// TestStage: staging in another folder makes the same bytes, whatever the times of the sources and
// whatever an earlier run left behind. The zip holds what the folder does: one function with what it
// links, no test, no embedded store.
func TestStage(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	run := func(out string) {
		var said bytes.Buffer
		if err := stage(t.Context(), out, &said); err != nil {
			t.Fatal(err)
		}
		if want := saying(t, out); said.String() != want {
			t.Errorf("it said %s, want %s", &said, want)
		}
	}
	run(first)
	err := os.CopyFS(second, os.DirFS(first)) // an earlier run, and what is not of this one
	if err = errors.Join(err, os.WriteFile(filepath.Join(second, "webhook", "left.go"), []byte("package app"), 0o600),
		os.WriteFile(filepath.Join(second, "register.zip"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	run(second)
	equal(t, "the second run", folder(t, second), folder(t, first))
	for _, function := range []string{"webhook", "register", "reconcile", "effects"} {
		staged := folder(t, filepath.Join(first, function))
		equal(t, function+".zip", unzip(t, filepath.Join(first, function+".zip")), staged)
		for name := range staged {
			other := strings.HasPrefix(name, "functions/") && !strings.HasPrefix(name, "functions/"+function+"/")
			if other || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "sqlite") || strings.Contains(name,
				"ledgertest") {
				t.Errorf("%s holds %s", function, name)
			}
		}
		for _, name := range []string{root, "go.mod", "go.sum", "functions/" + function + "/setup.go",
			"shared/httpfunc/register.go"} {
			if staged[name] == nil {
				t.Errorf("%s lacks %s", function, name)
			}
		}
		if want := `_ "github.com/opledger/opledger/functions/` + function + `"`; !bytes.Contains(staged[root],
			[]byte(want)) {
			t.Errorf("the root of %s is %s", function, staged[root])
		}
	}
}

// saying is the output for the zips in a folder.
func saying(t *testing.T, out string) (lines string) {
	t.Helper()
	for _, function := range []string{"effects", "reconcile", "register", "webhook"} {
		archive := filepath.Join(out, function+".zip")
		content, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		lines += fmt.Sprintf("%s  %d bytes  sha256:%x\n", archive, len(content), sha256.Sum256(content))
	}
	return lines
}

// TestRefusesWhatItDidNotMake: a folder that was not staged is never replaced.
func TestRefusesWhatItDidNotMake(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"own.txt": "mine", root: "package main // mine"} {
		dir := filepath.Join(t.TempDir(), "webhook")
		own := filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(own, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := files{root: []byte(generated)}.writeFolder(dir)
		if err == nil || !strings.Contains(err.Error(), "was not staged") {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(own); err != nil || string(text) != content {
			t.Errorf("%s is now %s, %v", name, text, err)
		}
	}
}
