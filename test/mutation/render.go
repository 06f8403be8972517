package main

import (
	"slices"
	"strings"
)

// An edit puts text around an expression, and in place of what it cuts.
type edit struct {
	start, end    int
	before, after string
	cut           []piece // what is replaced inside, such as an operator
}

type piece struct {
	start, end int
	text       string
}

// rendered is the source with every edit made. Edits lie within each other or apart; of two around
// the same expression the later is the inner.
func (m *mutator) rendered() string {
	inserts := map[int][2]string{} // at an offset: what ends there, and what begins there
	cuts := map[int]piece{}
	byLength := slices.Clone(m.edits)
	slices.SortStableFunc(byLength, func(a, b edit) int { return (b.end - b.start) - (a.end - a.start) })
	for _, e := range byLength { // the longest first: what it opens is before, what it closes is behind
		at := inserts[e.start]
		at[1] += e.before
		inserts[e.start] = at
		at = inserts[e.end]
		at[0] = e.after + at[0]
		inserts[e.end] = at
		for _, c := range e.cut {
			cuts[c.start] = c
		}
	}
	var out strings.Builder
	for i := 0; i <= len(m.source); {
		out.WriteString(inserts[i][0] + inserts[i][1])
		if c, ok := cuts[i]; ok {
			out.WriteString(c.text)
			i = c.end
			continue
		}
		if i < len(m.source) {
			out.WriteByte(m.source[i])
		}
		i++
	}
	return out.String()
}
