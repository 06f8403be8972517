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
//	    it. ClaimLookUp and MakeDueNow move its due time, RecordCondition records inconclusive
//	    look-ups, Abandon ends the waiting, ResolveConflict resolves a conflict.
//	operations/{key}/deliveries/{id}
//	    Created once, with the decision that it led to; never changed.
//	operations/{key}/effects/{name}
//	    Created in the commit that reaches the state, or finds the condition, that a rule lists.
//	    Claim changes it, then only the holder of the claim. Requeue moves its due time.
//	    Operators act on it by Replay, Waive and Recover.
//	operations/{key}/effects/{name}/items/{key}
//	    Created and changed by Record, in a commit with its effect. Replay and
//	    Waive change when FAILED ones expire.
//	intents/{correlation id}
//	    Created by Intend, or by the Ingest or Register that meets the id first.
//	jobs/{id}
//	    Created by Submit, with its record. Advance takes its steps; the holder of its split, and of
//	    its finish, records what that led to. Cancel is an operator's.
//	jobs/{id}/parts/{number}
//	    Created by the holder of the split, and by Advance. The holder of one of its steps changes it,
//	    and Advance consumes it. Release is an operator's.
//	passes/batches
//	    The parts that count as batches that run, by Advance alone.
//	passes/lookups
//	    The marks of the passes, how the last one ended, and where the next begins to read, by Lookups alone.
//	passes/webhook
//	    The deliveries that the webhook refused in a row, by AddRefusals alone [W1].
//	settings/planning
//	    The settings that decide what is planned, by StoreSettings [L7]. ResolveLeftOut is an operator's.
//	quarantine/{delivery id}
//	    Created by Add. MarkRetried records the outcome of a later retry.
//
// Forget deletes an operation with its record, deliveries, effects and intent, the record last. It leaves
// the plan and the parts of a job.
//
// Two fields rule all waiting and all deletion. dueAt is when a pass must process the document
// again; expireAt is when it may be deleted. No document has both. "Now" is always the store's read
// time.
//
// The last section of shared/RULES.md has every move of an intent and of an effect: who writes it,
// when, and what a crash right after it leaves behind.
//
// # States of an intent
//
//	Intend──▶ OPEN ──Abandon──▶ ABANDONED ──Intend──▶ OPEN
//	            └──Ingest, Register──▶ BOUND ◀──┘ ▲
//	Ingest──▶ SEEN ──Register, Intend─────────────┘
//
// Withdraw deletes an OPEN or ABANDONED intent, once the submitter knows that nothing was
// submitted.
//
// # Look-ups
//
// A pass claims an operation by moving its due time, then asks Gemini [R2, R6]. Where it moves it
// for longer than an interval, Prepare has left a mark before. A crash leaves behind:
//
//	after the mark, before the move  a mark of a look-up that was not claimed: it changes nothing
//	after the move, or the answer    a mark: a pass that begins when the time of this one is over
//	                                 makes the operation due, one interval after this one began
//
// # States of an effect
//
//	PENDING ──Claim──▶ CLAIMED ──Finish────────────▶ DONE
//	   ▲                │  │ └────MarkDead, Release─▶ DEAD ◀── Claim, after too many
//	   │                │  │                                   attempts without an outcome
//	   ├────Release─────┘  └─ lease over ─▶ claimable by any worker, with a higher fence
//	   ├────Continue, when the worker's time is over
//	   └────Replay, by an operator, of a DEAD effect
//
// An operator's message [G5] goes through Replay before its claim. The commit that reopens a DEAD
// effect also stores the message's id, so neither a redelivery nor a lost answer reopens it twice.
// A rerun is an effect of its own beside the first, publish@NONCE, with its own document, key and
// claim.
//
// # Alerts
//
// An alert [R4] is an effect of a rule that lists it. Its name is the rule's with the kind and
// number of the alert behind an '@', as in page@stuck-1. The record names it, so it is planned
// once, however many passes find the condition at the same time. Alerts about an intent or a
// webhook, which have no record, are counted by the effects under its path.
package ledger
