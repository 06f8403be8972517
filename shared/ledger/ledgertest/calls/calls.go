// Package calls is a table of all calls of the ledger that ask its store, each as its caller makes it.
// Tests of faults make each of them while something goes wrong below it.
package calls

import (
	"slices"
)

// A Call is one call of the ledger, in one case.
type Call struct {
	// Name is the method's, perhaps with a case behind a slash.
	Name string
	// Arrange brings a new world to where the call is made; nil for a call that only reads, which is
	// made on one that Populate has filled.
	Arrange func(w *World)
	// Act makes the call. Its result is always the same.
	Act func(w *World) (any, error)
	// Again is what the caller does afterwards: a redelivery, the next message or pass. nil: the same
	// call. Where Once is set it does so only after an error.
	Again func(w *World) error
	Once  bool
	// Settled are the errors of Again that say that nothing is left to do.
	Settled []error
	// Loose are the fields that may differ where the call was made again after an error, because nothing
	// says that it was done: counts. Rewrites: the call does so by itself where an answer was lost, and
	// ends without an error.
	Loose    []string
	Rewrites bool
	// Reads: it writes nothing, so that all its faults may meet one world.
	Reads bool
	// Spares is the collection whose documents the call leaves alone where they cannot be read, and
	// goes on; empty: it returns that as an error, or in its result.
	Spares string
}

// All returns every call.
func All() []Call {
	return slices.Concat(
		operationCalls, passCalls, effectCalls, itemCalls, intentCalls, jobCalls, quarantineCalls, readCalls(), jobReads(),
	)
}
