package main

import (
	"os"
	"path/filepath"
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
	if err := (options{tests: []string{guarded}}).hunt(t.Context(), h, tree, nil); err != nil {
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
		key := strings.TrimPrefix(m.key(), guarded+"\t")
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

// TestQuick: a mutant survives if the test in its table no longer fails, though another would, and
// if no table has it. One with a reason is not tried.
func TestQuick(t *testing.T) {
	t.Parallel()
	tree := &tree{root: root(t), scratch: t.TempDir()}
	if err := tree.mutate(t.Context(), []string{guarded}); err != nil {
		t.Fatal(err)
	}
	key := func(rest string) string { return guarded + "\t" + rest }
	proved, weakened := key("Divide\tb == 0\tnever"), key("Divide\ta > 1000\tnever")
	reasoned := key("Late\tinAConstant of closed && inAConstant\twithout")
	last := map[string]string{
		proved: guarded + " TestDivide/zero", weakened: guarded + " TestLate", reasoned: guarded + " TestDivide/zero",
	}
	h := &hunt{mutants: tree.mutants, killed: map[int]string{}, turn: make(chan struct{}, 2)}
	o := options{tests: []string{guarded}, quick: true, last: last}
	if err := o.hunt(t.Context(), h, tree, map[string]string{reasoned: "It is a constant."}); err != nil {
		t.Fatal(err)
	}
	for _, m := range tree.mutants[1:] {
		if killed := h.killed[m.id] != ""; killed != (m.key() == proved) {
			t.Errorf("%q is killed by %q", m.key(), h.killed[m.id])
		}
	}
}

// mutants are the keys of the mutants of the source as it is.
func mutants(t *testing.T) (there map[string]bool) {
	t.Helper()
	tree := &tree{root: root(t), scratch: t.TempDir()}
	if err := tree.write(targets, nil); err != nil {
		t.Fatal(err)
	}
	there = map[string]bool{}
	for _, m := range tree.mutants[1:] {
		there[m.key()] = true
	}
	if len(there) < 1000 {
		t.Fatalf("only %d mutants", len(there))
	}
	return there
}

// TestTablesAreTrue: each row is of a mutant of the source as it is, and names a test that is there,
// or the reason as it is. A row goes with its guard.
func TestTablesAreTrue(t *testing.T) {
	t.Parallel()
	reasons, err := readReasons(root(t))
	if err != nil {
		t.Fatal(err)
	}
	there, tests := mutants(t), map[string]string{}
	for _, pkg := range targets {
		rows, err := readRows(root(t), pkg)
		if err != nil {
			t.Fatal(err)
		}
		for key, end := range rows {
			if reason, survived := strings.CutPrefix(end, survives); survived {
				if reason != reasons[key] {
					t.Errorf("%s has not this reason for\n\t%s", reasonsFile, key)
				}
			} else if !hasTest(t, tests, end) {
				t.Errorf("%s is no test, and kills nothing of\n\t%s", end, key)
			}
			if !there[key] {
				t.Errorf("no guard is left for\n\t%s\nthis tries the one in its place:\n\t"+
					"go run ./test/mutation -write -unknown -kinds %s %s", key, key[strings.LastIndex(key, "\t")+1:], pkg)
			}
		}
	}
}

// hasTest reports whether a test is there: "shared/operation TestX/part". sources are those of tests
// by their packages.
func hasTest(t *testing.T, sources map[string]string, test string) bool {
	t.Helper()
	pkg, name, _ := strings.Cut(test, " ")
	if sources[pkg] == "" {
		files, err := filepath.Glob(filepath.Join(root(t), pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sources[pkg] += string(source)
		}
	}
	name, _, _ = strings.Cut(name, "/")
	return strings.Contains(sources[pkg], "\nfunc "+name+"(")
}

// TestSurvivorsAreThere: each mutant that has a reason to survive is one of the source as it is. A
// reason goes with its guard.
func TestSurvivorsAreThere(t *testing.T) {
	t.Parallel()
	reasons, err := readReasons(root(t))
	if err != nil {
		t.Fatal(err)
	}
	there := mutants(t)
	for key := range reasons {
		if !there[key] {
			t.Errorf("%s has a reason for what is no mutant: take it out\n\t%s", reasonsFile, key)
		}
	}
}
