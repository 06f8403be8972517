package gcloud

import (
	"regexp"
	"slices"
	"testing"
)

// without is an answer less what matches, becomes one in which it is replaced.
func without(pattern, gone string) change { return becomes(pattern, gone, "") }

func becomes(pattern, old, new string) change {
	matches := regexp.MustCompile("(?m)" + old)
	return change{pattern: pattern, answer: func(now string) string { return matches.ReplaceAllString(now, new) }}
}

// instead is another answer.
func instead(r rule) change { return change{pattern: r.Pattern, rule: r} }

// of returns the world after the change.
func (c change) of(t *testing.T, w world) world {
	t.Helper()
	if c.answer == nil {
		return append(world{c.rule}, w...)
	}
	i := slices.IndexFunc(w, func(r rule) bool { return r.Pattern == c.pattern })
	if i < 0 {
		t.Fatalf("there is no rule %s", c.pattern)
	}
	now := w[i].Out
	if w[i].Out = c.answer(now); w[i].Out == now {
		t.Fatalf("%s does not say what is to be changed: %s", c.pattern, now)
	}
	return w
}

// batches are parts that can be missing at once: no two are one part, or depend on one whole answer.
// Without the first two, doctor checks nothing else.
func batches(parts []part) (all [][]part) {
	all = [][]part{parts[:1], parts[1:2]}
next:
	for _, p := range parts[2:] {
		for i := 2; i < len(all); i++ {
			if !slices.ContainsFunc(all[i], p.excludes) {
				all[i] = append(all[i], p)
				continue next
			}
		}
		all = append(all, []part{p})
	}
	return all
}

func (p part) excludes(other part) bool {
	whole := p.change.answer == nil || other.change.answer == nil
	return p.what == other.what || whole && p.change.pattern == other.change.pattern
}
