package main

import (
	"context"
	"encoding/json"
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
)

const module = "github.com/opledger/opledger"

// A tree is the module, and what is built of it: every mutant of some packages in one copy, which
// lies over the source. The source itself is not touched.
type tree struct {
	root    string
	scratch string
	without string            // the pattern of tests that are left out
	copies  map[string]string // of a mutated copy: the file that it lies over
	mutants []mutant          // its index is its number; 0 is none
	skipped int               // mutants that do not compile
}

// A binary is the test binary of one package, with every mutant in it.
type binary struct {
	pkg       string // "shared/operation"
	path      string
	dir       string // where its tests run
	skip      string // the pattern of tests that are left out
	emulators bool   // its tests use Google's emulators
}

// mutate makes the copy of the targets. It leaves out the mutants that do not compile, such as one
// in a constant.
func (t *tree) mutate(ctx context.Context, targets []string) error {
	skip := map[string]map[int]bool{}
	most := 0
	for range 20 {
		if err := t.write(targets, skip); err != nil {
			return err
		}
		most = max(most, len(t.mutants))
		t.skipped = most - len(t.mutants)
		args := append([]string{"build", "-gcflags=-e", "-overlay", t.overlay()}, paths(targets)...)
		build := exec.CommandContext(ctx, "go", args...)
		build.Dir = t.root
		output, err := build.CombinedOutput()
		if err == nil {
			return nil
		}
		if !t.learn(skip, string(output)) {
			return fmt.Errorf("the mutated packages do not build: %w\n%s", err, output)
		}
	}
	return errors.New("the mutated packages do not build, whatever is left out")
}

// packages returns those of targets, each once.
func packages(targets []string) (all []string) {
	for _, target := range targets {
		if strings.HasSuffix(target, ".go") {
			target = path.Dir(target)
		}
		if !slices.Contains(all, target) {
			all = append(all, target)
		}
	}
	return all
}

func paths(targets []string) (all []string) {
	for _, p := range packages(targets) {
		all = append(all, "./"+p)
	}
	return all
}

func (t *tree) overlay() string { return filepath.Join(t.scratch, "overlay.json") }

// write writes the mutated copy, and what places it over the source.
func (t *tree) write(targets []string, skip map[string]map[int]bool) error {
	t.mutants, t.copies = []mutant{{}}, map[string]string{}
	next := 1
	replace := map[string]string{}
	for _, target := range targets {
		pkg, pattern := target, filepath.Join(target, "*.go")
		if strings.HasSuffix(target, ".go") {
			pkg, pattern = path.Dir(target), target
		}
		files, err := filepath.Glob(filepath.Join(t.root, pattern))
		if err != nil || len(files) == 0 {
			return fmt.Errorf("%s has no Go files (%w)", target, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			mutated, found, err := mutateFile(pkg, name, source, &next, skip[name])
			if err != nil {
				return err
			}
			if len(found) == 0 {
				continue
			}
			t.mutants = append(t.mutants, found...)
			copied := filepath.Join(t.scratch, strings.ReplaceAll(pkg, "/", ".")+"."+filepath.Base(name))
			if err := os.WriteFile(copied, []byte(mutated), 0o600); err != nil {
				return err
			}
			replace[name], t.copies[copied] = copied, name
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(t.overlay(), content, 0o600)
}

var compileError = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: `)

// learn notes the lines at which the compiler stopped, and reports whether there is a new one.
func (t *tree) learn(skip map[string]map[int]bool, output string) (more bool) {
	for _, found := range compileError.FindAllStringSubmatch(output, -1) {
		copied := found[1]
		if !filepath.IsAbs(copied) { // the go command writes the shorter of the two, as in a checkout beside TMPDIR
			copied = filepath.Join(t.root, copied)
		}
		path := t.copies[copied]
		line, err := strconv.Atoi(found[2])
		if err != nil || path == "" {
			continue
		}
		if skip[path] == nil {
			skip[path] = map[int]bool{}
		}
		more = more || !skip[path][line]
		skip[path][line] = true
	}
	return more
}

// test builds the test binary of a package.
func (t *tree) test(ctx context.Context, pkg string) (*binary, error) {
	b := &binary{pkg: pkg, dir: filepath.Join(t.root, pkg), skip: t.without}
	b.path = filepath.Join(t.scratch, strings.ReplaceAll(pkg, "/", ".")+".test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-w", "-overlay", t.overlay(), "-o", b.path, "./"+pkg)
	build.Dir = t.root
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, output)
	}
	var err error
	b.emulators, err = t.usesEmulators(pkg)
	return b, err
}

var usesEmulator = regexp.MustCompile(`\bharness\.(Firestore|PubSub)\(`)

// usesEmulators reports whether the tests of a package ask for one of Google's emulators.
func (t *tree) usesEmulators(pkg string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(t.root, pkg, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			return false, err
		}
		if usesEmulator.Match(source) {
			return true, nil
		}
	}
	return false, nil
}
