// Package submit starts operations at Gemini in such a way that none is invisible, whatever dies in
// between [G6].
//
// It goes in three steps, and what a crash leaves behind is always enough for another process to go
// on:
//
//	after             a crash leaves
//	nothing yet       nothing: there is no job, and nothing runs
//	1 intent          an OPEN intent, and nothing at Gemini; reconciliation alerts, and gives it up after a while
//	2 create, sent    an OPEN intent, and perhaps an operation that carries its id: in its user metadata, and in a batch's display
//	                  name. Its event binds the intent, or discovery, which finds the batch in Gemini's list; both register it
//	3 register        the operation in the ledger, bound to its intent: nothing is left to do
//
// Videos and interactions cannot be listed, so between 2 and 3 only their event shows them; a video
// that fails has none. Where that matters, keep the name that Submit returns beside an error, and
// register it by hand.
//
// Creating is not idempotent at Gemini: what is sent twice runs, and costs, twice. So nothing here
// is sent again by itself, the SDK's own repetitions are off, and who starts again under the same
// correlation id gets the operation that is there, or ErrUncertain. A batch of which Gemini's list
// knows nothing, some minutes after the last run with its intent began, is submitted then: the run
// that does so renews the intent first, so that of several at the same time one submits, that the
// next one waits again, and that a crash of this one is as visible as one of the first. What Gemini
// refused leaves no intent.
package submit
