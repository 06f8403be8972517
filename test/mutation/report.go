package main

import (
	"fmt"
	"io"
	"path/filepath"
)

// report prints the counts, and each mutant that survives without a reason.
func report(out io.Writer, packages []string, t *tree, killed map[int]string, reasons map[string]string) error {
	tallies, surviving, needless := count(t.mutants, killed, reasons)
	fmt.Fprintln(out, "| package | mutants | killed | survive with a reason | without |")
	fmt.Fprintln(out, "| --- | ---: | ---: | ---: | ---: |")
	var sum tally
	row := func(name string, c tally) {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d |\n", name, c.mutants, c.killed, c.reasoned, c.surviving)
	}
	for _, pkg := range packages {
		c := tallies[pkg]
		if c == nil {
			c = &tally{}
		}
		row(pkg, *c)
		sum = tally{sum.mutants + c.mutants, sum.killed + c.killed, sum.reasoned + c.reasoned, sum.surviving + c.surviving}
	}
	row("**together**", sum)
	fmt.Fprintf(out, "\n%d more do not compile.\n", t.skipped)
	for _, m := range surviving {
		file, err := filepath.Rel(t.root, m.file)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s:%d survives:\n\t%s\n", file, m.line, m.key())
	}
	for _, key := range needless {
		fmt.Fprintf(out, "%s has a mutant that a test kills, with a reason why none does:\n\t%s\n", reasonsFile, key)
	}
	if len(surviving)+len(needless) > 0 {
		return fmt.Errorf("%d %w without a reason; %d reasons are needless", len(surviving), errSurvivors, len(needless))
	}
	return nil
}
