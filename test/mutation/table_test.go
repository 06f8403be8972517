package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable: what is written is read, save that a survivor has no test.
func TestTable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	killed := mutant{id: 1, Package: "shared/a", Function: "F", Guard: "err != nil", Kind: never}
	alive := mutant{id: 2, Package: "shared/a", Function: "F", Guard: "a < b", Kind: shifted}
	other := mutant{id: 3, Package: "shared/b", Function: "F", Guard: "a < b", Kind: shifted}
	mutants := []mutant{{}, killed, alive, other}
	tests := map[int]string{1: "shared/a TestF/error", 3: "shared/b TestF"}
	reasons := map[string]string{alive.key(): "Both are the same.", other.key(): "It was so once."}
	if err := writeTable(root, "shared/a", mutants, tests, reasons, true); err != nil {
		t.Fatal(err)
	}
	got, err := readTable(root, "shared/a")
	if want := map[string]string{killed.key(): tests[1]}; err != nil || !maps.Equal(got, want) {
		t.Errorf("the table has %v, %v, want %v", got, err, want)
	}
	if got, err := readTable(root, "shared/b"); err != nil || len(got) > 0 {
		t.Errorf("a table that is not there has %v, %v", got, err)
	}
	tallies, surviving, needless := count(mutants, tests, reasons)
	if a := *tallies["shared/a"]; a != (tally{mutants: 2, killed: 1, reasoned: 1}) || len(surviving) > 0 {
		t.Errorf("shared/a has %+v, and %v survive without a reason", a, surviving)
	}
	if len(needless) != 1 || needless[0] != other.key() {
		t.Errorf("needless reasons are %q, want that of the mutant that a test kills", needless)
	}
}

// TestReasonErrors: a line that gives no mutant a reason is named.
func TestReasonErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\tp\tF\tg\tnever\n":                         "survivors.txt:1: a mutant without a reason",
		"Why.\n\n\tp\tF\tg\tnever\n":                 "survivors.txt:3: a mutant without a reason",
		"Why.\n\tp\tF\tnever\n":                      "survivors.txt:2: want package, function, guard and mutation",
		"Why.\n\tp\tF\tg\tnever\n\tp\tF\tg\tnever\n": "survivors.txt:3: this mutant has a reason already",
	} {
		root := t.TempDir()
		file := filepath.Join(root, reasonsFile)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readReasons(root); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read with %v, want %q", text, err, want)
		}
	}
}
