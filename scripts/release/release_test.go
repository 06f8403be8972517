package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSection: the text of a release is what the change log has below its heading, up to the next one or the links.
func TestSection(t *testing.T) {
	t.Parallel()
	const text = "# Changelog\n\n## [Unreleased]\n\n- later\n\n" +
		"## [0.2.0] - 2026-12-01\n\nSecond.\n\n### Added\n\n- a\n\n" +
		"## [0.1.0] - 2026-11-28\n\nFirst.\n\n[0.1.0]: https://example.com\n"
	for version, want := range map[string]string{
		"0.2.0": "Second.\n\n### Added\n\n- a", "0.1.0": "First.", "0.1": "", "1.0.0": "",
	} {
		if got := section(text, version); got != want {
			t.Errorf("%s: %q, want %q", version, got, want)
		}
	}
}

// TestCheckOutRefuses: nothing is built of a commit without the tag, of changed files, or without a text; all of that
// is said at once.
func TestCheckOutRefuses(t *testing.T) {
	// It changes the working directory.
	if _, err := checkOut(t.Context(), "0.1.0", t.TempDir()); err == nil || !strings.Contains(err.Error(), "as v0.1.0") {
		t.Errorf("%v", err)
	}
	clone := t.TempDir()
	t.Chdir(clone)
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	write(changeLog, "## [0.1.0]\n\nFirst.\n")
	git("add", ".")
	git("commit", "--quiet", "-m", "one")
	write("left.txt", "over")
	_, err := checkOut(t.Context(), "v0.2.0", t.TempDir())
	for _, problem := range []string{"the checked out commit is not v0.2.0: git tag -a v0.2.0", "?? left.txt",
		changeLog + " has no section ## [0.2.0]"} {
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v does not say %s", err, problem)
		}
	}
	git("tag", "v0.1.0")
	git("add", ".")
	if _, err := checkOut(t.Context(), "v0.1.0", t.TempDir()); err == nil || !strings.Contains(err.Error(), "left.txt") {
		t.Errorf("%v", err)
	}
	git("reset", "--quiet", "--hard")
	temporary := t.TempDir()
	s, err := checkOut(t.Context(), "v0.1.0", temporary)
	if err != nil || s.version != "0.1.0" || s.notes != "First." || s.at.IsZero() {
		t.Errorf("%+v, %v", s, err)
	}
	if content, err := s.file(changeLog); err != nil || !bytes.Contains(content, []byte("First.")) {
		t.Errorf("%s, %v", content, err)
	}
}

// TestWheel: a wheel has the files that its record says, with their sums, and the same content makes the same bytes.
func TestWheel(t *testing.T) {
	t.Parallel()
	w := wheel{
		distribution: "opledger_server", version: "0.1.0", platforms: platforms[0].wheels,
		metadata: "Name: opledger-server\n",
		files:    []file{{name: "opledger_server-0.1.0.data/scripts/opledger", content: []byte("program"), executable: true}},
		licences: []file{{name: "LICENSE", content: []byte("licence")}},
	}
	const tags = "py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"
	if w.name() != "opledger_server-0.1.0-"+tags+".whl" {
		t.Errorf("it is named %s", w.name())
	}
	at := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	packed, err := w.pack(at)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.pack(at); err != nil || !bytes.Equal(again, packed) {
		t.Errorf("the same wheel has other bytes: %v", err)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	record, sums := "", ""
	for _, entry := range archive.File {
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(entry.Name, "/opledger") != (entry.Mode()&0o111 != 0) {
			t.Errorf("%s has the mode %s", entry.Name, entry.Mode())
		}
		if strings.HasSuffix(entry.Name, "/RECORD") {
			record, sums = string(content), sums+entry.Name+",,\n"
			continue
		}
		sum := sha256.Sum256(content)
		sums += fmt.Sprintf("%s,sha256=%s,%d\n", entry.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	}
	if record == "" || record != sums {
		t.Errorf("the record says\n%sand the wheel has\n%s", record, sums)
	}
}

// TestMetadata: the extra server requires the command of the same version.
func TestMetadata(t *testing.T) {
	t.Parallel()
	var p pyproject
	if err := json.Unmarshal([]byte(`{"project": {"name": "opledger", "description": "d", "requires-python": ">=3.10",
		"license": {"text": "Apache-2.0"}, "classifiers": ["Typing :: Typed"], "urls": {"Source": "https://example.com"},
		"optional-dependencies": {"server": ["opledger-server"], "google": ["google-auth", "requests"]}}}`), &p); err != nil {
		t.Fatal(err)
	}
	const want = `Metadata-Version: 2.1
Name: opledger
Version: 0.1.0
Summary: d
License: Apache-2.0
Requires-Python: >=3.10
Classifier: Typing :: Typed
Project-URL: Source, https://example.com
Provides-Extra: google
Requires-Dist: google-auth; extra == 'google'
Requires-Dist: requests; extra == 'google'
Provides-Extra: server
Requires-Dist: opledger-server==0.1.0; extra == 'server'
Description-Content-Type: text/markdown

read me`
	if got := p.metadata("0.1.0", "read me"); got != want {
		t.Errorf("the metadata are\n%s\nwant\n%s", got, want)
	}
}

// TestDistIsEmpty: what an earlier release left is not summed into another.
func TestDistIsEmpty(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "dist")
	d, err := newDist(folder)
	if err == nil {
		err = d.write("image/linux_amd64/opledger", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newDist(folder); err == nil || !strings.Contains(err.Error(), "is not empty: remove it") {
		t.Errorf("%v", err)
	}
}
