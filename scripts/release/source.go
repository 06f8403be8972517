package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opledger/opledger/shared/diag"
)

// A source is the commit that is released.
type source struct {
	root    string    // of the clone, where Go finds the tag
	tree    string    // a copy of its files, in which the packages get their version
	version string    // the tag without its v
	at      time.Time // of the commit, and so of all files in archives
	notes   string    // the section of the version in the change log
}

const changeLog = ".github/CHANGELOG.md"

var versionTag = regexp.MustCompile(`^v(\d+\.\d+\.\d+)$`)

// checkOut copies the files of the tag, which must be the commit of the working directory's clone, without a change.
func checkOut(ctx context.Context, tag, temporary string) (source, error) {
	found := versionTag.FindStringSubmatch(tag)
	if found == nil {
		return source{}, fmt.Errorf("%q is no version: write it as v0.1.0", tag)
	}
	root, err := output(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return source{}, err
	}
	s := source{root: root, tree: filepath.Join(temporary, "tree"), version: found[1]}
	tags, err := output(ctx, root, "git", "tag", "--points-at", "HEAD")
	if err != nil {
		return source{}, err
	}
	changes, err := output(ctx, root, "git", "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	var p diag.Problems
	p.When(!slices.Contains(strings.Fields(tags), tag),
		"the checked out commit is not %[1]s: git tag -a %[1]s, or git checkout %[1]s", tag)
	p.When(changes != "", "files differ from the commit:\n%s", changes)
	text, err := os.ReadFile(filepath.Join(root, changeLog))
	if s.notes = section(string(text), s.version); err != nil || s.notes == "" {
		p = append(p, errors.Join(fmt.Errorf("%s has no section ## [%s]", changeLog, s.version), err))
	}
	if err := errors.Join(p...); err != nil {
		return source{}, err
	}
	seconds, err := output(ctx, root, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return source{}, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return source{}, fmt.Errorf("reading the time of the commit: %w", err)
	}
	s.at = time.Unix(unix, 0).UTC()
	_, err = output(ctx, root, "git", "checkout-index", "--all", "--prefix="+s.tree+"/")
	return s, err
}

// section returns what a change log says about a version, without its heading.
func section(text, version string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n## ["+version+"]")
	_, rest, _ = strings.Cut(rest, "\n")
	said, _, _ := strings.Cut("\n"+rest, "\n## ")
	said, _, _ = strings.Cut(said, "\n[") // the links at the end
	return strings.TrimSpace(said)
}

// file returns the content of a file of the release.
func (s source) file(name string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(s.tree, filepath.FromSlash(name)))
	if err != nil {
		return nil, fmt.Errorf("reading a file of the release: %w", err)
	}
	return content, nil
}

// files returns the files of a folder of the release, below another name, but for some. It passes over folders in it.
func (s source) files(from, below string, without ...string) (files []file, err error) {
	entries, err := os.ReadDir(filepath.Join(s.tree, filepath.FromSlash(from)))
	if err != nil {
		return nil, fmt.Errorf("reading a folder of the release: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() || slices.Contains(without, entry.Name()) {
			continue
		}
		content, err := s.file(path.Join(from, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: path.Join(below, entry.Name()), content: content})
	}
	return files, nil
}

// rewrite replaces a text that a file of the copy has once.
func (s source) rewrite(name, old, replacement string) error {
	content, err := s.file(name)
	if err != nil {
		return err
	}
	if n := bytes.Count(content, []byte(old)); n != 1 {
		return fmt.Errorf("%s has %q %d times, not once: where is its version?", name, old, n)
	}
	content = bytes.Replace(content, []byte(old), []byte(replacement), 1)
	return os.WriteFile(filepath.Join(s.tree, filepath.FromSlash(name)), content, 0o600)
}

// output runs a program, and returns what it prints. Variables are set beside those of this process.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	return outputWith(ctx, nil, dir, program, args...)
}

func outputWith(ctx context.Context, variables []string, dir, program string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, program, args...)
	command.Dir, command.Env = dir, append(os.Environ(), variables...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(append([]string{program}, args...), " "), err, out, stderr.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}
