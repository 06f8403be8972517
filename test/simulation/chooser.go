package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A Question says what a Chooser decides about. It is for choosers that weigh: the number of the
// options alone defines the schedule.
type Question uint8

// The questions.
const (
	Plan    Question = iota // of the world: how many batches there are, when they end, and by which end
	Next                    // which of the things that can happen now happens
	Fate                    // what becomes of a call: 0 is that it works
	Seldom                  // the same, in a world in which a request makes many calls
	Outside                 // the same, of a call to Gemini or to a receiver, of which there are few
	Where                   // which process a call is for
	Orphan                  // whether a request whose caller is gone arrives: 0 is that it does not
)

// A Chooser makes every decision of a schedule. The choices, in their order, are the schedule: the
// same ones lead to the same calls, the same commits and the same trace.
type Chooser interface {
	// Choose returns a number from 0 to n-1; n is 2 or more. 0 is the ordinary course: what came first
	// goes first, and works.
	Choose(about Question, n int) int
}

// Random returns the chooser of a seed. Each seed has its own rates of faults and of reordering, so
// that some schedules are nearly calm and others a storm. Its String is the flag of TestStorm that
// repeats the schedule.
func Random(seed uint64) Chooser {
	r := rand.New(rand.NewPCG(seed, 0x6f706c6564676572)) //nolint:gosec // not a secret: it is to be repeated
	faults := []float64{0, 0.02, 0.05, 0.1, 0.2}
	reordering := []float64{0, 0.1, 0.3, 1}
	return &random{
		Rand: r, seed: seed, faults: faults[r.IntN(len(faults))], reordering: reordering[r.IntN(len(reordering))],
	}
}

type random struct {
	*rand.Rand

	seed               uint64
	faults, reordering float64
}

func (c *random) String() string { return fmt.Sprintf("-seed %d", c.seed) }

// outsideMore is how much more often a call to Gemini or to a receiver is disturbed than one of the
// many calls to the store and to the topic.
const outsideMore = 3

// seldomLess is how much less often a call is disturbed where each request makes many.
const seldomLess = 5

func (c *random) Choose(about Question, n int) int {
	switch {
	case about == Fate && c.Float64() >= c.faults, about == Outside && c.Float64() >= outsideMore*c.faults,
		about == Seldom && seldomLess*c.Float64() >= c.faults, about == Next && c.Float64() >= c.reordering:
		return 0
	case about == Fate, about == Seldom, about == Outside:
		return 1 + c.IntN(n-1)
	default:
		return c.IntN(n)
	}
}

// Replay returns a chooser that makes these choices, and then 0 for ever. A choice that is not among
// the options is 0. Its String is the flag of TestStorm that repeats the schedule.
func Replay(choices []int) Chooser { return &replay{choices: choices, all: choices} }

// A replay makes the choices that are left of all.
type replay struct{ choices, all []int }

func (c *replay) String() string {
	return "-choices " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.all)), ","), "[]")
}

func (c *replay) Choose(_ Question, n int) int {
	if len(c.choices) == 0 {
		return 0
	}
	choice := c.choices[0]
	c.choices = c.choices[1:]
	if choice >= n {
		return 0
	}
	return choice
}
