// Package submit starts operations at Gemini so that none is lost, wherever the submitter crashes
// [G6].
//
// It takes three steps. What a crash leaves behind is enough for another process to go on:
//
//	after             a crash leaves
//	nothing yet       nothing: there is no job, and nothing runs
//	1 intent          an OPEN intent, and nothing at Gemini; reconciliation alerts, and gives it up
//	                  after a while
//	2 create, sent    an OPEN intent, and perhaps an operation with its id in its user metadata, and
//	                  in a batch's display name; its event binds the intent, or discovery does, which
//	                  finds the batch in Gemini's list; both register the operation
//	3 register        the operation in the ledger, bound to its intent: nothing is left to do
//
// Videos and interactions cannot be listed, so between 2 and 3 only their event shows them, and a
// failed video has none. Where that matters, keep the name that Submit returns beside an error, and
// register it by hand.
//
// Creating is not idempotent at Gemini: a request that is sent twice runs, and costs, twice. So
// this package never retries one, and switches the SDK's retries off. A submitter that starts again
// under the same correlation id gets the existing operation, or ErrUncertain.
//
// Whether a run may submit is decided by the ledger, in the commit that records its intent: see
// [ledger.IntentVerdict]. A batch is submitted again only after a reconcile pass did not find it in
// Gemini's list, which the pass began to read 5 minutes or more after the last run with its intent
// began. So of several concurrent runs one submits, the next one waits again, and a crash of this
// run is as visible as one of the first. A refused submission leaves no intent.
package submit
