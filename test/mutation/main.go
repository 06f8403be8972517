// Mutation tries the tests on the guards: it takes out each guard of the packages that decide, one at
// a time, and names the test that then fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// targets are the packages whose guards are taken out when none is named.
var targets = []string{
	"shared/operation", "shared/ledger", "shared/ledger/sqlite", "shared/ledger/firestore", "shared/effect",
	"shared/trust", "shared/reconcile", "shared/confirm", "shared/submit",
}

// witnesses are the packages whose tests try the mutants of all targets that they reach, in this
// order. The tests of Firestore are the slowest, so they are asked last.
var witnesses = []string{
	"shared/operation", "shared/trust", "shared/confirm", "shared/ledger", "shared/ledger/sqlite", "shared/effect",
	"shared/submit", "shared/reconcile", "functions/webhook", "functions/register", "functions/effects",
	"functions/reconcile", "shared/ledger/firestore",
}

// errSurvivors: the run has ended, and what it found is printed.
var errSurvivors = errors.New("mutants survive")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(1)
	}
}

type options struct {
	root     string
	write    bool
	quick    bool
	unknown  bool
	jobs     int
	tests    []string
	packages []string
	kinds    []kind
	skip     string
	last     map[string]string // the tests that the tables name, by the keys of their mutants
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	flags.BoolVar(&o.write, "write", false, "write the tables in "+folder)
	flags.BoolVar(&o.quick, "quick", false, "try each mutant on the test in its table alone, and believe the reasons")
	flags.BoolVar(&o.unknown, "unknown", false, "try only the mutants for which a table names no test")
	flags.IntVar(&o.jobs, "jobs", 2, "how many tests run at once")
	flags.StringVar(&o.skip, "skip", "", "the pattern of tests that are not run, as go test has it")
	kinds := flags.String("kinds", "", "the mutations that are tried, by comma; all if empty")
	tests := flags.String("tests", "", "the packages whose tests are run, by comma; all that can reach a mutant if empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.root, err = moduleRoot(ctx); err != nil {
		return err
	}
	o.packages, o.tests = targets, witnesses
	if flags.NArg() > 0 {
		o.packages = nil
		for _, arg := range flags.Args() {
			o.packages = append(o.packages, strings.TrimPrefix(filepath.ToSlash(filepath.Clean(arg)), "./"))
		}
	}
	if *kinds != "" {
		for k := range strings.SplitSeq(*kinds, ",") {
			o.kinds = append(o.kinds, kind(k))
		}
	}
	if *tests != "" {
		o.tests = strings.Split(*tests, ",")
	}
	return o.run(ctx, out)
}

func moduleRoot(ctx context.Context) (string, error) {
	output, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	return strings.TrimSpace(string(output)), nil
}

func (o options) run(ctx context.Context, out io.Writer) error {
	reasons, err := readReasons(o.root)
	if err != nil {
		return err
	}
	o.last = map[string]string{}
	for _, pkg := range o.packages {
		table, err := readTable(o.root, pkg)
		if err != nil {
			return err
		}
		for key, killer := range table {
			o.last[key] = killer
		}
	}
	scratch, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	t := &tree{root: o.root, scratch: scratch, without: o.skip}
	if err := t.mutate(ctx, o.packages); err != nil {
		return err
	}
	h := &hunt{mutants: t.mutants, killed: map[int]string{}, turn: make(chan struct{}, o.jobs)}
	hunted := o.hunt(ctx, h, t, reasons)
	if o.write {
		if err := o.writeTables(t, h.killed, reasons, hunted == nil); err != nil {
			return errors.Join(hunted, err)
		}
	}
	if hunted != nil {
		return hunted
	}
	t.mutants = slices.DeleteFunc(t.mutants, func(m mutant) bool { return m.id > 0 && !o.tries(m) })
	err = report(out, o.packages, t, h.killed, reasons)
	if o.quick && errors.Is(err, errSurvivors) {
		err = fmt.Errorf("%w; a guard or the test in its table has changed, and this tries every test:\n\t"+
			"go run ./test/mutation -write %s", err, strings.Join(o.packages, " "))
	}
	return err
}

// tries reports whether a mutant is one of those that are asked for.
func (o options) tries(m mutant) bool {
	return (len(o.kinds) == 0 || slices.Contains(o.kinds, m.Kind)) && !(o.unknown && o.last[m.key()] != "")
}

// writeTables writes the table of each package. What the last run knew of a mutant that was not tried
// stands. whole says that the run has come to its end.
func (o options) writeTables(t *tree, killed map[int]string, reasons map[string]string, whole bool) error {
	for _, m := range t.mutants[1:] {
		if (!whole || !o.tries(m)) && killed[m.id] == "" && o.last[m.key()] != "" {
			killed[m.id] = o.last[m.key()]
		}
	}
	for _, pkg := range o.packages {
		if err := writeTable(o.root, pkg, t.mutants[1:], killed, reasons, whole && len(o.kinds) == 0); err != nil {
			return err
		}
	}
	return nil
}

// hunt tries every mutant: first on the test that killed it the last time, then on every test that
// reaches it, a package of tests after the other.
func (o options) hunt(ctx context.Context, h *hunt, t *tree, reasons map[string]string) error {
	var ids []int
	needed := map[string]bool{}
	for _, m := range t.mutants[1:] {
		if !o.tries(m) {
			continue
		}
		ids = append(ids, m.id)
		pkg, _, _ := strings.Cut(o.last[m.key()], " ")
		needed[pkg] = true
	}
	emulators := &emulators{}
	defer emulators.stop()
	for _, pkg := range o.tests {
		alive := h.alive(ids)
		if o.quick {
			alive = slices.DeleteFunc(alive, func(id int) bool { return reasons[t.mutants[id].key()] != "" })
		}
		if len(alive) == 0 || o.quick && !needed[pkg] {
			continue
		}
		fmt.Fprintf(os.Stderr, "%d mutants left; building the tests of %s\n", len(alive), pkg)
		b, err := t.test(ctx, pkg)
		if err == nil && b.emulators {
			err = emulators.start(ctx)
		}
		if err != nil {
			return err
		}
		if err := h.again(ctx, b, alive, o.last); err != nil {
			return err
		}
		if alive = h.alive(alive); o.quick || len(alive) == 0 {
			continue
		}
		units, err := b.units(ctx, len(t.mutants), h.turn)
		if err != nil {
			return err
		}
		if err := h.all(ctx, alive, units); err != nil {
			return err
		}
	}
	return ctx.Err()
}
