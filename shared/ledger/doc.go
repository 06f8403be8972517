// Package ledger keeps the record of every operation and runs the protocol of its side effects,
// over a small document [Store]. It keeps three promises: a completion counts once, however often
// it arrives; a settled operation is never rolled back; a planned effect is run until its outcome
// is known.
//
// # Documents, and who may write them
//
// Every change is read, decide, commit. Documents are read with their version tokens, a pure
// function decides, and the commit holds only if no document changed in between. A lost race
// decides again [M6].
//
//	operations/{key}
//	    The record. Only the reducer changes its state: in Ingest, and in Register for what
//	    deliveries reported before [M7, W5]. Register creates it. Effects report their status in
//	    it. Postpone and MakeDueNow move its due time, NoteCondition records inconclusive
//	    look-ups, Abandon ends the waiting, ResolveConflict the concern about two ends.
//	operations/{key}/deliveries/{id}
//	    Created once, with the decision that it led to; never changed.
//	operations/{key}/effects/{name}
//	    Created in the commit that reaches the state, or finds the condition, that a rule lists.
//	    Claim changes it, then only the holder of the claim. Requeue moves its due time.
//	    Operators act on it by Replay, WaiveEffect and Recover.
//	operations/{key}/effects/{name}/items/{key}
//	    Created and changed by RecordItems, in a commit with its effect. Replay and
//	    WaiveEffect change when FAILED ones expire.
//	intents/{correlation id}
//	    Created by Intend, or by the Ingest or Register that meets the id first; see below.
//	passes/lookups
//	    The marks of the passes, and how the last one ended, by Lookups alone.
//	passes/webhook
//	    The deliveries that the webhook refused in a row, by AddRefusals alone [W1].
//	settings/planning
//	    The settings that decide what is planned, by StoreSettings alone [L7].
//	quarantine/{delivery id}
//	    Created by Quarantine. MarkRetried records the outcome of a later retry.
//
// Forget deletes an operation with all of these but the quarantine, the record last.
//
// Two fields rule all waiting and all deletion. dueAt is when a pass must process the document
// again; expireAt is when it may be deleted. No document has both. "Now" is always the store's read
// time.
//
// # States of an intent
//
//	Intend──▶ OPEN ──AbandonIntent──▶ ABANDONED ──Intend──▶ OPEN
//	            └──Ingest, Register──▶ BOUND ◀──┘ ▲
//	Ingest──▶ SEEN ──Register, Intend─────────────┘
//
// A submitter records its intent, submits the job with the correlation id in its user metadata, and
// registers the operation [G6]. One intent is one operation: of several operations with the id, the
// first commit binds it, and the others are treated as if they had none. Intend decides what its
// caller may do: see IntentVerdict. Where it lets a submitter that starts again submit, it renews the
// intent in the same commit, from OPEN or ABANDONED to OPEN. Withdraw deletes an OPEN or ABANDONED
// intent, once the submitter knows that nothing was submitted. An ABANDONED intent is still searched
// for, less and less often, for SearchFor.
//
// A crash of the submitter leaves behind:
//
//	before Intend                    nothing, and nothing was submitted
//	after it, before the submission  an OPEN intent, which is given up after StuckAfter. A pass finds
//	                                 no batch in Gemini's list, and notes when it began to read: the
//	                                 next submitter may submit. Nothing decides what no list has.
//	after it was renewed             an OPEN intent with its whole StuckAfter ahead
//	after the submission             the same, and an operation. Its first event with the id
//	                                 registers it: from the webhook, or made of what Discover
//	                                 finds in Gemini's list.
//	after Register                   a BOUND intent: Intend tells the restarted submitter
//
// # Look-ups
//
// A pass claims an operation by moving its due time, then asks Gemini [R2, R6]. Where the operation is
// old, it is moved for longer than an interval, and Prepare has left a mark about it. A crash leaves
// behind:
//
//	after the mark, before the move  a mark about an attempt that was never counted, so that it is
//	                                 about nothing
//	after the move                   a mark: a pass that begins when the time of this one is over
//	                                 makes the operation due, one interval after this one began
//	after the answer                 the same: at most one look-up more than needed
//
// # States of an effect
//
//	PENDING ──Claim──▶ CLAIMED ──Finish────────────▶ DONE
//	   ▲                │  │ └────MarkDead, Release─▶ DEAD ◀── Claim, after too many
//	   │                │  │                                   attempts without an outcome
//	   ├────Release─────┘  └─ lease over ─▶ claimable by any worker, with a higher fence
//	   └────Replay, by an operator, of a DEAD effect
//
// Release marks an effect DEAD that has failed MaxAttempts times, and for RetryFor. A claim never
// counts time: an effect that waited through a long pause or outage is tried first.
//
// A crash leaves behind:
//
//	before the commit that plans     nothing; the sender redelivers, or reconciliation looks
//	                                 the operation up
//	after it, before the message     a PENDING effect that is due: the sweep publishes it
//	after the claim                  a CLAIMED effect: claimable again, and due, when its lease ends
//	after the effect, before Finish  the same: the effect is repeated, with the same
//	                                 idempotency key and payload
//	after Finish                     a DONE effect, for good
//
// # Replays and reruns
//
// An operator's message [G5] goes through Replay before its claim. The commit that reopens a DEAD
// effect also stores the message's id, so neither a redelivery nor a lost answer reopens it twice.
// A DONE effect stays DONE. With a nonce the message plans one more run beside it, publish@NONCE,
// with its own document, key and claim. Of an effect and its reruns at most one is CLAIMED. A crash
// between Replay and the claim leaves an open effect that is due.
//
// # Effects that run once per item
//
// An effect may run once for each item of a batch's result [K4]. It has one claim for all of them.
// RecordItems writes the outcomes of a chunk together with the effect's progress:
//
//	after a chunk was performed, before its commit  the chunk is repeated, with the same keys
//	                                                and payloads
//	after its commit                                the next worker continues with the others
//
// What has an outcome is known by its key: the result may come in another order each time. The progress
// counts these items and holds a digest of their keys; a worker that does not recognise them by it reads
// their documents (Items).
//
// An effect with FAILED items ends DEAD. Replay returns them to waiting in the commit that reopens
// the effect; their documents stay as they are until they are tried. WaiveEffect sets their
// expiry before its own commit; a crash in between leaves a dead effect that can be waived again.
// Continue gives the claim back when the holder's time is over: CLAIMED becomes PENDING, and no
// attempt is counted.
//
// # Alerts
//
// An alert [R4] is an effect of a rule that lists it. Its name is the rule's with the kind and
// number of the alert behind an '@', as in page@stuck-1; its handler is the rule's. The record
// names it, so it is planned once, however many passes find the condition at the same time. About
// what is no operation the effects under its path are counted instead. That an intent was given up is
// planned in that very commit; that a webhook is disabled when that begins, and AlertEvery after the
// last time.
//
// # What follows
//
// The decision to run is made by one worker at a time. An effect outside the store is repeated only
// where its outcome did not reach the ledger. Its receiver recognizes the idempotency key, and can
// refuse the repeat.
package ledger
