// Package effect runs side effects: it claims one through the ledger, has its handler perform it, and records the outcome.
//
// A [Handler] performs one kind of effect. It is called once at a time for one effect of one operation, with the payload and
// the idempotency key that were frozen when the effect was planned. It may be called again, with the same bytes, when its
// outcome did not reach the ledger: the process died, the lease was lost, the store was down. A handler that talks to the
// world should pass the idempotency key on, so that the receiver can refuse the repeat.
//
// Where an effect runs once per item of a batch's result, [Each] stands around the handler of one item, and the same holds for
// each item: its key, its bytes, and what it may repeat [K4].
//
// [Runner] is the one function that every entrance ends in [S1].
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
// Only what is written in the commit that makes the effect DONE happens exactly once, because it is that commit. For anything
// outside of the ledger's store nobody can promise it: a process may die between the effect and the commit that says so.
//
// # A handler of one's own
//
// It is a Go value that stands in functions/effects/custom.go under the name of its effect, and that effect has do: custom in
// OPLEDGER_EFFECTS:
//
//	OPLEDGER_EFFECTS='[{name: invoice, on: [SUCCEEDED], do: custom}]'
//
//	func Custom(ctx context.Context, log *slog.Logger) (map[string]effect.Handler, error) {
//		return map[string]effect.Handler{"invoice": invoices.New(…)}, nil
//	}
//
// `opledger serve` takes it from there too. What the handler must keep to:
//
//   - It returns nil only when the effect happened. An error is tried again after a back-off, until it has failed
//     OPLEDGER_MAX_ATTEMPTS times and for OPLEDGER_RETRY_FOR; [RetryAfter] makes the back-off longer; [Permanent] ends the
//     effect at once: it is DEAD, and an alert says so.
//   - It hands task.IdempotencyKey to whoever it talks to, and never asks there whether the effect already happened [S8]: the
//     answer may be older than the attempt that is still on its way.
//   - It builds what it sends from task.Payload alone, a [ledger.Payload], so that every attempt sends the same.
//   - Its errors end in documents and logs. What it quotes of an answer goes through a redact.Redactor, as in http, so that no
//     token of the request is in it.
//   - It stops when its context ends: from then on a successor may be at work.
//   - It may be called for many operations at once.
//
// Documents that it returns are written with the outcome or not at all. A write holds only if its precondition does (an empty
// Token: the document must not exist). One that must not exist and does makes the effect DEAD at once; one that another writer
// has changed since makes the attempt a failed one. So their paths
// should be the effect's own: under [ledger.EffectPath], or with the idempotency key in the id. They count towards the limits of
// a commit: some hundreds of documents, 1 MiB each and 10 MiB together.
package effect
