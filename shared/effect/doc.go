// Package effect runs side effects: it claims one through the ledger, calls its handler, and
// records the outcome.
//
// A [Handler] performs one kind of effect. It is called once at a time for one effect of one
// operation, with the payload and the idempotency key that were frozen when the effect was planned.
// It may be called again, with the same bytes, if its outcome did not reach the ledger: the process
// died, the lease was lost, the store was down. A handler that calls another system should pass the
// idempotency key on, so that the receiver can refuse the repeat.
//
// [Runner] is the one way to run an effect [S1]. It knows nothing of what handlers do. The rooms below
// this folder import it:
//
//	items    calls a handler once per item of a batch's result: each has its key and its bytes [K4]
//	spec     reads OPLEDGER_EFFECTS: which effects there are, and when each is planned
//	http …   a kind of effect each: its settings, their checks, its secrets and its handler
//	kinds    the table of the kinds, and the handlers of all effects
//
// # What each handler promises
//
//	log     a line in the log, at least once
//	http    a POST, at least once; always the same key and bytes, so the receiver can refuse a repeat
//	pubsub  a message, at least once; the same key in its attributes, so a consumer can refuse a repeat
//	results a document in the ledger's store for each item of a batch's result, exactly once; or
//	        one object in Cloud Storage with all of it, which is created once and never overwritten
//	custom  what the team's own code does with the key; the documents that it returns, exactly once
//
// Only what is written in the commit that makes the effect DONE happens exactly once, because it is
// that commit. Nothing outside of the ledger's store can have this guarantee: a process may die
// between the effect and the commit that records it.
//
// # A handler of one's own
//
// It is a [Handler] that the program passes in kinds.Options under the name of its effect, and
// that effect has do: custom in the settings:
//
//	[{name: invoice, on: [SUCCEEDED], do: custom}]
//
// What the handler must keep to:
//
//   - It returns nil only when the effect happened. An error is retried after a back-off, until it has
//     failed for the attempts and the time of the ledger's settings. [RetryAfter] makes the back-off
//     longer. [Permanent] makes the effect DEAD at once, and an alert is logged.
//   - It passes task.IdempotencyKey to the system that it calls, and never queries there whether the
//     effect already happened [S8]: the answer may be older than an attempt that is still on its way.
//   - It builds what it sends from task.Payload alone, a [ledger.Payload], so that every attempt sends
//     the same.
//   - Its errors are stored and logged. What it quotes of an answer goes through a diag.Redactor, as
//     in http, so that no token of the request is in it.
//   - It stops when its context ends: from then on a successor may be at work.
//   - It may be called for many operations at once.
//
// Documents that it returns are written with the outcome or not at all. A write holds only if its
// precondition does (an empty Token: the document must not exist). If the document must not exist
// and does, the effect is DEAD at once. If another writer has changed it, the attempt failed. So
// their paths should be the effect's own: under [ledger.EffectPath], or with the idempotency key in
// the id. They count towards the limits of a commit: some hundreds of documents, 1 MiB each and 10
// MiB together.
package effect
