package main

import (
	"fmt"
	"io"
	"path/filepath"
)

// report prints the counts, and each mutant that survives without a reason. Where listed it prints each
// mutant that is killed, too, with the test.
func (o options) report(
	out io.Writer, mutants []mutant, skipped int, killed map[int]string, allowed map[place]int,
) error {
	tallies, surviving, needless := count(mutants, killed, allowed)
	fmt.Fprintln(out, "| package | mutants | killed | survive with a reason | without |")
	fmt.Fprintln(out, "| --- | ---: | ---: | ---: | ---: |")
	var sum tally
	row := func(name string, c tally) {
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d |\n", name, c.mutants, c.killed, c.reasoned, c.surviving)
	}
	for _, pkg := range packages(o.targets) {
		c := tallies[pkg]
		if c == nil {
			c = &tally{}
		}
		row(pkg, *c)
		sum = tally{sum.mutants + c.mutants, sum.killed + c.killed, sum.reasoned + c.reasoned, sum.surviving + c.surviving}
	}
	row("**together**", sum)
	fmt.Fprintf(out, "\n%d more do not compile.\n", skipped)
	for _, m := range mutants {
		if o.list && killed[m.id] != "" {
			fmt.Fprintf(out, "%s\t%s\t%s\n", m.place(), m.Guard, killed[m.id])
		}
	}
	for _, m := range surviving {
		file, err := filepath.Rel(o.root, m.file)
		if err != nil {
			return err
		}
		reasons := ""
		if n := allowed[m.place()]; n > 0 {
			reasons = fmt.Sprintf(", one of more than the %d with a reason", n)
		}
		fmt.Fprintf(out, "%s:%d survives%s: %s\n\t%s\n", file, m.line, reasons, m.Guard, m.place())
	}
	for _, p := range needless {
		fmt.Fprintf(out, "%s has a reason more than mutants survive:\n\t%s\n", reasonsFile, p)
	}
	if len(surviving)+len(needless) > 0 {
		return fmt.Errorf("%d %w without a reason; reasons are needless at %d places", len(surviving), errSurvivors,
			len(needless))
	}
	return nil
}
