package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const guarded = "test/mutation/testdata/guarded"

func root(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// TestHunt: each mutant of a small package is killed by the test that proves its guard, and named
// with it; the boundary that no test is about survives, and the copy lies beside the source.
func TestHunt(t *testing.T) {
	t.Parallel()
	tree := &tree{root: root(t), scratch: t.TempDir()}
	if err := tree.mutate(t.Context(), []string{guarded}); err != nil {
		t.Fatal(err)
	}
	if tree.skipped != 1 {
		t.Errorf("%d mutants do not compile, want the one in a constant", tree.skipped)
	}
	h := &hunt{mutants: tree.mutants, killed: map[int]string{}, turn: make(chan struct{}, 2)}
	if err := (options{tests: []string{guarded}}).hunt(t.Context(), h, tree, tree.mutants[1:]); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Divide\tb == 0\tnever":                               "TestDivide/zero",
		"Divide\tb == 0\talways":                              "TestDivide/numbers",
		"Divide\ta > 1000\tnever":                             "TestDivide/large",
		"Divide\ta > 1000\talways":                            "TestDivide/numbers",
		"Divide\ta > 1000\tshifted":                           "",
		"Late\tcase closed && inAConstant\tnever":             "TestLate",
		"Late\tcase closed && inAConstant\talways":            "TestLate",
		"Late\tclosed of closed && inAConstant\twithout":      "TestLate",
		"Late\tinAConstant of closed && inAConstant\twithout": "",
		"Late\tat.After(limit)\tshifted":                      "TestLate",
	}
	for _, m := range tree.mutants[1:] {
		key := strings.Join([]string{m.Function, m.Guard, string(m.Kind)}, "\t")
		killer, listed := want[key]
		if killer != "" {
			killer = guarded + " " + killer
		}
		if got := h.killed[m.id]; !listed || got != killer {
			t.Errorf("%q is killed by %q, want %q", key, got, killer)
		}
		delete(want, key)
	}
	for key := range want {
		t.Errorf("%q is no mutant", key)
	}
	source, err := os.ReadFile("testdata/guarded/guarded.go")
	if err != nil || strings.Contains(string(source), "mutant_") {
		t.Errorf("the source has a mutant (%v)", err)
	}
}

// TestFiles: of a package of which files are named, only their guards are taken out.
func TestFiles(t *testing.T) {
	t.Parallel()
	tree := &tree{root: root(t), scratch: t.TempDir()}
	const pkg = "scripts/opledger/server"
	files := []string{pkg + "/access.go", pkg + "/visitor.go"}
	if err := tree.write(files, nil); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range tree.mutants[1:] {
		got[m.Package+"/"+filepath.Base(m.file)] = true
	}
	if !slices.Equal(slices.Sorted(maps.Keys(got)), files) || !slices.Equal(packages(files), []string{pkg}) {
		t.Errorf("tried %v of %v", got, packages(files))
	}
}

// TestReasonsAreNeeded: a reason is for a mutant of the source as it is. It goes with its guard.
func TestReasonsAreNeeded(t *testing.T) {
	t.Parallel()
	tree := &tree{root: root(t), scratch: t.TempDir()}
	if err := tree.write(targets, nil); err != nil {
		t.Fatal(err)
	}
	there := map[place]int{}
	for _, m := range tree.mutants[1:] {
		there[m.place()]++
	}
	if len(tree.mutants) < 1000 {
		t.Fatalf("only %d mutants", len(tree.mutants))
	}
	allowed, err := readReasons(root(t))
	if err != nil {
		t.Fatal(err)
	}
	for p, n := range allowed {
		if n > there[p] {
			t.Errorf("%s has %d reasons for %d mutants: take out what is too many\n\t%s", reasonsFile, n, there[p], p)
		}
	}
}
