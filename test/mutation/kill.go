package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/opledger/opledger/test/mutation/switchboard"
)

// patience is how long a group's tests may take under a mutant: what waits forever must end, and a
// busy machine must not kill anything. An endless loop ends sooner, by its processor time: each test
// may use ten times its own.
func (g group) patience() limits {
	var took, used, most time.Duration
	for _, u := range g.units {
		took, used, most = took+u.took, used+u.used, max(most, u.used)
	}
	return limits{wall: min(20*took, 2*time.Minute) + time.Minute, processor: used + 9*most + 2*time.Second}
}

// A hunt tries mutants on tests.
type hunt struct {
	mutants []mutant
	turn    chan struct{} // as many as run at once

	mu     sync.Mutex
	killed map[int]string // by the number of the mutant: the test that fails
}

// each calls do for mutants, as many at once as there are turns.
func (h *hunt) each(ids []int, what string, do func(id int) (killer string, err error)) error {
	errs := make(chan error, len(ids))
	start, done := time.Now(), 0
	for _, id := range ids {
		h.turn <- struct{}{}
		go func() {
			defer func() { <-h.turn }()
			killer, err := do(id)
			h.mu.Lock()
			if killer != "" {
				h.killed[id] = killer
			}
			done++
			if done%100 == 0 {
				fmt.Fprintf(os.Stderr, "%s: %d of %d mutants, %v\n", what, done, len(ids), time.Since(start).Round(time.Second))
			}
			h.mu.Unlock()
			errs <- err
		}()
	}
	var all []error // every one has ended, so that killed is whole
	for range ids {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

// alive are the mutants among ids that no test has killed.
func (h *hunt) alive(ids []int) (alive []int) {
	for _, id := range ids {
		if h.killed[id] == "" {
			alive = append(alive, id)
		}
	}
	return alive
}

// all runs for each mutant the tests that reach it, until one fails: the few that are likely to for
// every mutant first, so that a run that is interrupted has found most.
func (h *hunt) all(ctx context.Context, ids []int, units []*unit) error {
	reach := map[int][]*unit{}
	for _, u := range units {
		for _, id := range u.reaches {
			reach[id] = append(reach[id], u)
		}
	}
	likely := func(all []group) []group { return all[:min(alone, len(all))] }
	rest := func(all []group) []group { return all[min(alone, len(all)):] }
	for _, round := range []struct {
		what string
		of   func([]group) []group
	}{{"the likely tests", likely}, {"the other tests that reach it", rest}} {
		if err := h.each(h.alive(ids), round.what, func(id int) (string, error) {
			for _, g := range round.of(groups(h.mutants[id].Package, reach[id])) {
				killer, err := h.killer(ctx, id, g)
				if killer != "" || err != nil {
					return killer, err
				}
			}
			return "", nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// killer returns the test of a group that fails under a mutant, by itself and again: one that fails
// by chance proves nothing.
func (h *hunt) killer(ctx context.Context, id int, g group) (string, error) {
	b := g.units[0].binary
	failed, output, err := h.try(ctx, id, b, g.pattern(), g.patience())
	if err != nil || !failed {
		return "", err
	}
	suspects := []string{failing(output)}
	for _, u := range g.units {
		suspects = append(suspects, u.name)
	}
	for _, name := range slices.Compact(suspects) {
		if name == "" || strings.HasPrefix(g.units[0].name, name+"/") {
			continue // it did not say which, or not which part
		}
		failed, _, err := h.try(ctx, id, b, pattern(name), g.patience())
		if err != nil || failed {
			return b.pkg + " " + name, err
		}
	}
	m := h.mutants[id]
	fmt.Fprintf(os.Stderr, "%s failed once, by chance or for what is beside it, under %s of\n\t%s\n",
		g, m.Guard, m.place())
	return "", nil
}

// try runs tests under a mutant.
func (h *hunt) try(ctx context.Context, id int, b *binary, tests string, most limits) (
	failed bool, output string, err error,
) {
	ended, err := b.run(ctx, tests, most, switchboard.Chosen+"="+strconv.Itoa(id))
	return ended.failed, ended.output, errors.Join(err, ctx.Err())
}

// A group is what one process runs: tests beside each other.
type group struct{ units []*unit }

func (g group) String() string { return g.units[0].binary.pkg + " " + g.pattern() }

func (g group) pattern() string {
	if len(g.units) == 1 {
		return pattern(g.units[0].name)
	}
	var last []string
	for _, u := range g.units {
		last = append(last, strings.TrimSuffix(strings.TrimPrefix(pattern(path.Base(u.name)), "^"), "$"))
	}
	beside := "^(" + strings.Join(last, "|") + ")$"
	if parent := path.Dir(g.units[0].name); parent != "." {
		return pattern(parent) + "/" + beside
	}
	return beside
}

// alone is how many of the tests that reach a mutant run by themselves.
const alone = 6

// groups orders the tests that reach a mutant: those of its own package first, the quick before the
// slow, and of these the ones that reach least, since they are about it. The first few run alone,
// the rest with what is beside them.
func groups(pkg string, units []*unit) (all []group) {
	rank := func(u *unit) int {
		rank := 0
		switch {
		case u.took > 2*time.Second:
			rank = 4
		case u.took > 300*time.Millisecond:
			rank = 2
		}
		if u.binary.pkg != pkg {
			rank++
		}
		return rank
	}
	units = slices.Clone(units)
	slices.SortStableFunc(units, func(a, b *unit) int {
		if r := rank(a) - rank(b); r != 0 {
			return r
		}
		return len(a.reaches) - len(b.reaches)
	})
	at := map[string]int{}
	for i, u := range units {
		beside := fmt.Sprint(u.binary.pkg, " ", path.Dir(u.name), rank(u))
		if g, ok := at[beside]; ok && i >= alone {
			all[g].units = append(all[g].units, u)
			continue
		}
		all = append(all, group{[]*unit{u}})
		if i >= alone {
			at[beside] = len(all) - 1
		}
	}
	return all
}
