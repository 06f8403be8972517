// Package release builds a release of the working tree for this platform, and uses it as a user does who has neither
// Go nor a clone.
package release

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/opledger/opledger/test/harness"
)

const root = "../.."

// TestInstalledPackages: pip and npm install what scripts/release built, without an index and without Go, and it works:
// the command of the wheel serves, and the clients submit to it. So does the command of the archive, and the image.
func TestInstalledPackages(t *testing.T) {
	t.Parallel()
	folder := t.TempDir() // of what the user has
	for _, program := range []string{"gzip", "node", "npm", "sh", "sha256sum", "tar"} {
		path := harness.Program(t, program, "no release is built")
		if err := os.Symlink(path, filepath.Join(folder, program)); err != nil {
			t.Fatal(err)
		}
	}
	python := harness.Program(t, "python3", "no release is built")
	if _, err := os.Stat(root + "/scripts/typescript/node_modules"); err != nil && os.Getenv("EXAMPLES_TYPESCRIPT") == "" {
		harness.Missing(t, "the packages of scripts/typescript are not installed (npm ci); no release is built")
	}
	r := build(t)
	r.path = folder
	t.Run("checksums", func(t *testing.T) {
		t.Parallel()
		r.run(t, r.dist, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	})
	t.Run("archive", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		stem := fmt.Sprintf("opledger_%s_%s_%s", r.version, runtime.GOOS, runtime.GOARCH)
		r.run(t, folder, "tar", "xzf", filepath.Join(r.dist, stem+".tar.gz"))
		r.isVersion(t, r.run(t, folder, filepath.Join(folder, stem, "opledger"), "--version"))
		for _, name := range []string{"LICENSE", "THIRD-PARTY.txt", "machine/opledger.service", "machine/README.md"} {
			if info, err := os.Stat(filepath.Join(folder, stem, name)); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("image", func(t *testing.T) {
		t.Parallel()
		r.runsImage(t)
	})
	t.Run("pip and npm", func(t *testing.T) {
		t.Parallel()
		venv := filepath.Join(t.TempDir(), "venv")
		output(t, "", python, "-m", "venv", venv)
		installed := r
		installed.path = filepath.Join(venv, "bin") + ":" + r.path
		if out, err := installed.try(t, "", "sh", "-c", "command -v go"); err == nil {
			t.Fatalf("Go is on PATH: %s", out)
		}
		installed.run(t, "", "pip", "install", "--quiet", "--no-index", "--find-links", r.dist, "opledger[server]")
		r.isVersion(t, installed.run(t, "", "opledger", "--version"))
		said := installed.run(t, t.TempDir(), "opledger", "local", "--operations", "5")
		if !strings.Contains(said, "lost 0 · doubled 0 · ") {
			t.Errorf("opledger local says %s", said)
		}
		serve := installed.serve(t)
		folder := t.TempDir()
		reviews := filepath.Join(folder, "reviews.csv")
		if err := os.WriteFile(reviews, []byte("id,text\na,good\nb,bad\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		serve.run(t, root+"/scripts/examples/python", "python", "nightly.py", reviews, reviews+".rated", "nightly-1")
		if rated, err := os.ReadFile(reviews + ".rated"); err != nil || bytes.Count(rated, []byte("\n")) != 3 {
			t.Errorf("the recipe writes %s, %v", rated, err)
		}
		serve.run(t, folder, "npm", "install", "--offline", "--no-audit", "--no-fund", "--loglevel=error",
			filepath.Join(r.dist, "opledger-"+r.version+".tgz"))
		out := serve.run(t, folder, "node", "--input-type=module", "-e", `import { Opledger } from "opledger";
			const { jobs } = new Opledger();
			await jobs.submit("npm", [["a", "Hello"]], { model: "gemini-3.5-flash" });
			const { key, state } = await jobs.wait("npm");
			for await (const result of jobs.results("npm")) console.log(key, state, result.key, result.outcome)`)
		if out != "jobs/npm SUCCEEDED a done\n" {
			t.Errorf("the npm package says: %s", out)
		}
	})
}

// A release is one that was built, and the variables of a user who has it.
type release struct {
	version, dist string
	path          string // without Go
	env           []string
}

// build builds the release of the working tree: the newest that the change log has, for this platform. The tag is in a
// clone that the test makes.
func build(t *testing.T) release {
	t.Helper()
	log, err := os.ReadFile(root + "/.github/CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^## \[(\d+\.\d+\.\d+)\]`).FindSubmatch(log)
	if found == nil {
		t.Fatal("the change log has no version")
	}
	clone := filepath.Join(t.TempDir(), "clone")
	r := release{version: string(found[1]), dist: filepath.Join(clone, "dist")}
	from, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		by := []string{"git", "-c", "user.name=test", "-c", "user.email=test@example.com"}
		return output(t, from, append(by, args...)...)
	}
	changes := filepath.Join(t.TempDir(), "changes")
	git("diff", "--binary", "--output="+changes, "HEAD") // it takes no lock, which another test may hold
	git("clone", "--quiet", "--shared", "--no-checkout", from, clone)
	git("-C", clone, "checkout", "--quiet", "--detach", git("rev-parse", "HEAD"))
	if info, err := os.Stat(changes); err == nil && info.Size() > 0 {
		git("-C", clone, "apply", "--index", changes)
		git("-C", clone, "commit", "--quiet", "-m", "What is changed")
	}
	git("-C", clone, "tag", "--force", "v"+r.version)
	output(t, clone, "go", "run", "./scripts/release", "--here", "v"+r.version)
	return r
}

func output(t *testing.T, dir string, words ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
	command.Dir = dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", words, err, out, stderr.Bytes())
	}
	return strings.TrimSpace(string(out))
}

// try runs a command of the user, with nothing of the variables of this process.
func (r release) try(t *testing.T, dir string, words ...string) (string, error) {
	t.Helper()
	command := r.command(t.Context(), words...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	return string(out), err
}

func (r release) run(t *testing.T, dir string, words ...string) string {
	t.Helper()
	out, err := r.try(t, dir, words...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", words, err, out)
	}
	return out
}

func (r release) command(ctx context.Context, words ...string) *exec.Cmd {
	// The shell finds the program on the user's PATH.
	command := exec.CommandContext(ctx, "/bin/sh", append([]string{"-c", `exec "$@"`, "sh"}, words...)...)
	command.Env = append([]string{"PATH=" + r.path, "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8"}, r.env...)
	return command
}

func (r release) isVersion(t *testing.T, said string) {
	t.Helper()
	if !strings.HasPrefix(said, "opledger v"+r.version+" (commit ") {
		t.Errorf("--version says %s", said)
	}
}

// serve starts serve --simulate, and returns the user with the variables that it says to export.
func (r release) serve(t *testing.T) release {
	t.Helper()
	// The test's own context ends before what it cleans up, and would kill it.
	command := r.command(context.WithoutCancel(t.Context()), "opledger", "serve", "--simulate", "--speed", "1000",
		"--port", "0", "--simulate-port", "0")
	command.Dir = t.TempDir()
	command.Env = append(command.Env, "TMPDIR="+command.Dir)
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(os.Interrupt)
		_, _ = io.Copy(io.Discard, out)
		if err := command.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if exports, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "export GEMINI_API_KEY="); ok {
			r.env = strings.Fields("GEMINI_API_KEY=" + exports)
			return r
		}
	}
	t.Fatal("serve does not say what to export")
	return r
}

// runsImage runs the command in the image, as the user that it names.
func (r release) runsImage(t *testing.T) {
	archive := filepath.Join(r.dist, fmt.Sprintf("opledger_%s_image_%s_%s.tar", r.version, runtime.GOOS, runtime.GOARCH))
	if _, err := os.Stat(archive); errors.Is(err, os.ErrNotExist) {
		harness.Missing(t, "there is no image: scripts/release found no buildah")
	}
	storage := t.TempDir()
	buildah := func(args ...string) string {
		t.Helper()
		return output(t, "", append([]string{"buildah", "--storage-driver", "vfs", "--root",
			filepath.Join(storage, "root"), "--runroot", filepath.Join(storage, "run")}, args...)...)
	}
	container := buildah("from", "--quiet", "docker-archive:"+archive)
	r.isVersion(t, buildah("run", "--isolation", "chroot", container, "/usr/local/bin/opledger", "--version"))
	if user := buildah("inspect", "--format", "{{.OCIv1.Config.User}}", container); user != "65532:65532" {
		t.Errorf("the image runs as %s", user)
	}
	said := buildah("run", "--isolation", "chroot", "--env", "GEMINI_API_KEY=k", "--env",
		"OPLEDGER_SERVE_TOKEN="+strings.Repeat("k", 43), container, "/usr/local/bin/opledger", "serve", "--host", "0.0.0.0",
		"--check")
	if !strings.Contains(said, "in order") {
		t.Errorf("what the image runs by default says %s", said)
	}
}
