// Package canary proves the chain of a deployment from end to end: what `opledger canary` and
// `scripts/doctor --live` run. Each step sends one thing through the real parts, and watches it
// arrive. A step that fails says which link is cut, and what to look at.
//
//	step      what goes through                                 where it is seen
//	register  an intent, as a submitter sends it: token, IAM    in the ledger, then withdrawn
//	delivery  a signed delivery: public URL, secret, Webhook    in the ledger, then removed
//	push      a message: topic, subscription, token, Effects    in the log: Effects skipped it
//	schedule  a run of the scheduler's job, Reconcile           in the log: the pass and its counts
//	batch     a batch of one request, only if asked for: money  in the ledger, hop by hop, then removed
//
// All but the last are about an operation that cannot exist: its id begins with
// operation.CanaryPrefix, which Gemini never issues. Nothing about it is registered, so no effect
// can run [W5]. Webhook and Effects log it with event=canary. No signal counts such a line: it would
// hide that all of Gemini's own deliveries are refused, or raise the number of unmatched events.
//
// Where a step is seen. The delivery leaves a record, so the ledger is enough. A skipped message
// leaves nothing in the ledger, by design, and a subscription does not show which message it has
// delivered. So push reads the line that Effects logs about it, as an operator would, and schedule
// reads that of the pass: the counts are nowhere else. It is one reader of Cloud Logging for both,
// and it proves in passing that the log arrives, on which every alert depends.
//
// How a cut is named. What can be read is checked before anything is sent, so that nothing is left
// behind a cut: the subscription has an endpoint, and its token is for that endpoint; the job is not
// paused. What is refused in front of a function runs no code of it. Cloud Run's own log of requests
// has the status, which says which grant is missing. So no step waits for its whole limit where the
// cause can be known.
//
// What is left behind. Clean-up has a context of its own, so it also happens after ctrl-C. A message
// that is refused stays in the subscription, and is skipped when the link works again. If the
// process is killed, the unregistered record expires after the retention. The submission of a batch
// is not interrupted, so that there is a name to remove.
//
// Times that are compared with Google's are the store's, never this machine's.
package canary
