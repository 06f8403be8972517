// Mutation tries the tests on the guards: it takes out each guard of the packages that decide, one at
// a time, and names the test that then fails.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/opledger/opledger/test/harness"
)

// targets are the packages whose guards are taken out when none is named, and the files of one whose
// others decide less.
var targets = []string{
	"shared/operation", "shared/ledger", "shared/ledger/sqlite", "shared/ledger/firestore", "shared/effect",
	"shared/effect/items", "shared/effect/spec", "shared/effect/http", "shared/effect/pubsub", "shared/effect/results",
	"shared/trust", "shared/reconcile", "shared/confirm", "shared/submit", "functions/webhook", "functions/register",
	"functions/effects", "functions/reconcile",
	"scripts/opledger/server/access.go", "scripts/opledger/server/visitor.go",
}

// witnesses are the packages whose tests try the mutants of all targets that they reach, in this
// order. The tests of Firestore are the slowest, so they are asked last.
var witnesses = []string{
	"shared/operation", "shared/trust", "shared/confirm", "shared/ledger", "shared/ledger/sqlite", "shared/effect",
	"shared/effect/items", "shared/effect/results", "shared/effect/http", "shared/effect/pubsub", "shared/effect/kinds",
	"shared/effect/spec",
	"shared/submit", "shared/reconcile", "functions/webhook", "functions/register", "functions/effects",
	"functions/reconcile", "scripts/opledger/server", "shared/ledger/firestore",
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
	root    string
	list    bool
	jobs    int
	tests   []string
	targets []string // packages, and files
	kinds   []kind
	skip    string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	flags.BoolVar(&o.list, "list", false, "print each mutant that is killed, too, with the test")
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
	o.targets, o.tests = targets, witnesses
	if flags.NArg() > 0 {
		o.targets = nil
		for _, arg := range flags.Args() {
			o.targets = append(o.targets, strings.TrimPrefix(filepath.ToSlash(filepath.Clean(arg)), "./"))
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
	allowed, err := readReasons(o.root)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "mutation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	t := &tree{root: o.root, scratch: scratch, without: o.skip}
	if err := t.mutate(ctx, o.targets); err != nil {
		return err
	}
	h := &hunt{mutants: t.mutants, killed: map[int]string{}, turn: make(chan struct{}, o.jobs)}
	tried := slices.DeleteFunc(slices.Clone(t.mutants[1:]), func(m mutant) bool { return !o.tries(m.place()) })
	if err := o.hunt(ctx, h, t, tried); err != nil {
		return err
	}
	there := map[place]bool{} // what a file of a package is named for
	for _, m := range t.mutants[1:] {
		there[m.place()] = true
	}
	maps.DeleteFunc(allowed, func(p place, _ int) bool {
		return !o.tries(p) || !slices.Contains(o.targets, p.Package) && !there[p]
	})
	return o.report(out, tried, t.skipped, h.killed, allowed)
}

// tries reports whether what is done at a place is asked for.
func (o options) tries(p place) bool { return len(o.kinds) == 0 || slices.Contains(o.kinds, p.Kind) }

// hunt tries every mutant on every test that reaches it, a package of tests after the other.
func (o options) hunt(ctx context.Context, h *hunt, t *tree, tried []mutant) error {
	var ids []int
	for _, m := range tried {
		ids = append(ids, m.id)
	}
	for _, pkg := range o.tests {
		alive := h.alive(ids)
		if len(alive) == 0 {
			break
		}
		fmt.Fprintf(os.Stderr, "%d mutants left; building the tests of %s\n", len(alive), pkg)
		b, err := t.test(ctx, pkg)
		if err != nil {
			return err
		}
		if b.emulators {
			// One that each test binary started for itself would take seconds for each mutant.
			stop, err := harness.StartEmulators(ctx)
			if err != nil {
				return err
			}
			defer stop()
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
