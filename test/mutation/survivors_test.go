package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reasons writes a file of reasons, and returns the folder that it is read from.
func reasons(t *testing.T, text string) (root string) {
	t.Helper()
	root = t.TempDir()
	file := filepath.Join(root, reasonsFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestReasons: each line below a reason lets one mutant of its function survive.
func TestReasons(t *testing.T) {
	t.Parallel()
	got, err := readReasons(reasons(t, "# A comment.\n\nBoth are\nthe same.\n\tp\tF\tnever\n\tp\tF\tnever\n\n"+
		"It cannot be.\n\tp\tF\tnever\n\tp\tT.M\twithout\n"))
	want := map[place]int{{"p", "F", never}: 3, {"p", "T.M", without}: 1}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("read as %v, %v, want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"\tp\tF\tnever\n":         "survivors.txt:1: a mutant without a reason",
		"Why.\n\n\tp\tF\tnever\n": "survivors.txt:3: a mutant without a reason",
		"Why.\n\tp\tF\n":          "survivors.txt:2: want package, function and mutation",
	} {
		if _, err := readReasons(reasons(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read with %v, want %q", text, err, want)
		}
	}
}

// TestCount: as many mutants of a function may survive as have a reason. One more is reported with all
// of them, since none can be told from the others; a reason more is needless.
func TestCount(t *testing.T) {
	t.Parallel()
	var mutants []mutant
	for i, function := range []string{"Killed", "Reasoned", "More", "More", "Fewer", "Fewer"} {
		mutants = append(mutants, mutant{id: i + 1, Package: "p", Function: function, Kind: never})
	}
	at := func(function string) place { return place{"p", function, never} }
	allowed := map[place]int{at("Killed"): 1, at("Reasoned"): 1, at("More"): 1, at("Fewer"): 2, at("Gone"): 1}
	tallies, surviving, needless := count(mutants, map[int]string{1: "p TestKilled", 6: "p TestFewer"}, allowed)
	if got, want := *tallies["p"], (tally{mutants: 6, killed: 2, reasoned: 3, surviving: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if want := mutants[2:4]; !slices.Equal(surviving, want) {
		t.Errorf("%v survive, want %v", surviving, want)
	}
	if want := []place{at("Fewer"), at("Gone"), at("Killed")}; !slices.Equal(needless, want) {
		t.Errorf("needless are %v, want %v", needless, want)
	}
}
