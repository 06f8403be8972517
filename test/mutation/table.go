package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files of results, beside this program.
const (
	folder      = "test/mutation"
	reasonsFile = "test/mutation/survivors.txt"
	header      = "function\tguard\tmutation\tthe test that fails, or why none does\n"
	survives    = "survives: "
)

func tableFile(pkg string) string {
	return filepath.Join(folder, "tables", strings.ReplaceAll(pkg, "/", "_")+".tsv")
}

// readTable returns the tests that killed a package's mutants in the run that wrote its table, by
// the key of the mutant. A table that is not there is empty.
func readTable(root, pkg string) (map[string]string, error) {
	rows, err := readRows(root, pkg)
	maps.DeleteFunc(rows, func(_, end string) bool { return strings.HasPrefix(end, survives) })
	return rows, err
}

// readRows returns the last column of a package's table, by the key of the mutant.
func readRows(root, pkg string) (map[string]string, error) {
	rows := map[string]string{}
	content, err := os.ReadFile(filepath.Join(root, tableFile(pkg)))
	if errors.Is(err, os.ErrNotExist) {
		return rows, nil
	}
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(content), "\n"), "\n") {
		columns := strings.Split(line, "\t")
		if len(columns) != 4 {
			return nil, fmt.Errorf("%s:%d has %d columns, not 4", tableFile(pkg), i+1, len(columns))
		}
		if i > 0 {
			rows[strings.Join([]string{pkg, columns[0], columns[1], columns[2]}, "\t")] = columns[3]
		}
	}
	return rows, nil
}

// writeTable writes a package's table: its mutants in the order of the source. Where not all were
// tried, one of which nothing is known has no row.
func writeTable(
	root, pkg string, mutants []mutant, killed map[int]string, reasons map[string]string, all bool,
) error {
	var out strings.Builder
	out.WriteString(header)
	for _, m := range mutants {
		if m.Package != pkg {
			continue
		}
		end := killed[m.id]
		if end == "" && !all && reasons[m.key()] == "" {
			continue
		}
		if end == "" {
			end = survives + reasons[m.key()]
		}
		fmt.Fprintf(&out, "%s\t%s\t%s\t%s\n", m.Function, m.Guard, m.Kind, end)
	}
	path := filepath.Join(root, tableFile(pkg))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(out.String()), 0o644)
}

// readReasons returns why mutants may survive, by their keys. The file has a paragraph for each
// reason: its text, and a line for each mutant, which begins with a tab.
func readReasons(root string) (map[string]string, error) {
	content, err := os.ReadFile(filepath.Join(root, reasonsFile))
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	reason := ""
	for i, line := range strings.Split(string(content), "\n") {
		key, isMutant := strings.CutPrefix(line, "\t")
		switch {
		case line == "":
			reason = ""
		case strings.HasPrefix(line, "#"):
		case !isMutant:
			reason = strings.TrimSpace(reason + " " + line)
		case reason == "":
			return nil, fmt.Errorf("%s:%d: a mutant without a reason before it", reasonsFile, i+1)
		case strings.Count(key, "\t") != 3:
			return nil, fmt.Errorf("%s:%d: want package, function, guard and mutation, with a tab between", reasonsFile, i+1)
		case reasons[key] != "":
			return nil, fmt.Errorf("%s:%d: this mutant has a reason already", reasonsFile, i+1)
		default:
			reasons[key] = reason
		}
	}
	return reasons, nil
}

// A tally counts the mutants of a package.
type tally struct{ mutants, killed, reasoned, surviving int }

// count counts the mutants of each package, and lists those that survive without a reason, and the
// reasons for mutants that a test kills.
func count(mutants []mutant, killed map[int]string, reasons map[string]string) (
	tallies map[string]*tally, surviving []mutant, needless []string,
) {
	tallies = map[string]*tally{}
	for _, m := range mutants[1:] {
		t := tallies[m.Package]
		if t == nil {
			t = &tally{}
			tallies[m.Package] = t
		}
		t.mutants++
		switch {
		case killed[m.id] != "":
			t.killed++
			if reasons[m.key()] != "" {
				needless = append(needless, m.key())
			}
		case reasons[m.key()] != "":
			t.reasoned++
		default:
			t.surviving++
			surviving = append(surviving, m)
		}
	}
	slices.Sort(needless)
	return tallies, surviving, needless
}
