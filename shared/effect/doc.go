// Package effect runs side effects: it claims one through the ledger, has its handler perform it, and records the outcome.
//
// A [Handler] performs one kind of effect. It is called once at a time for one effect of one operation, with the payload and
// the idempotency key that were frozen when the effect was planned. It may be called again, with the same bytes, when its
// outcome did not reach the ledger: the process died, the lease was lost, the store was down. A handler that talks to the
// world should pass the idempotency key on, so that the receiver can refuse the repeat.
//
// [Runner] is the one function that every entrance ends in [S1].
package effect
