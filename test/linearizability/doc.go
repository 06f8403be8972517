// Package linearizability checks that register, ingest, claim and finish are atomic: that what
// concurrent processes were answered could also have been answered one call after the other, in an
// order that agrees with when the calls were made [M6, S3, S6].
//
// Several processes share one store. Each has a few clients, which call the ledger about the same
// few operations at random, and write every call and every answer into a file, with the time of a
// clock that all processes of the machine share. One of the processes is killed in each round, at
// one of its commits. Porcupine then searches an order of all calls about one operation that the
// model allows.
//
// The model (model.go, effect.go) is a specification of one operation, written from the rules and
// not from the ledger's code, which it does not import. It knows no store, no version token and no
// retry.
//
// # Unknown answers
//
// A call is unknown when its process was killed in it, or when its error does not say whether the
// writes were made: ledger.ErrUnavailable alone. It may have taken effect at any time since, also
// much later or never, so it returns at the end of time, where the model allows it whatever the
// state. Faults are injected between the ledger and the store: a commit whose answer was lost, or
// that was made twice. A call that met one is unknown, too, unless its answer proves that it took
// effect once.
//
// After ledger.ErrContention a call has changed nothing. No other error is linearizable.
//
// # Time
//
// A lease ends by the store's clock, and a history has only the times of call and answer. The store
// was read in between. So the model knows an interval in which each lease ends, and refuses what is
// certainly wrong: a claim that was granted before the interval, or refused after it.
package linearizability
