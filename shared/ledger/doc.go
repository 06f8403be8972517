// Package ledger keeps the record of every operation and runs the protocol of its side effects, over a small document
// [Store]. It is where the promise is kept: a completion is taken in once however often it arrives, a settled operation is
// never rolled back, and a planned side effect is run until its outcome is known.
//
// # Who may write what
//
// Every change is read, decide, commit: documents are read with their version tokens, a pure function decides, and a commit
// holds only if nobody wrote in between. A lost race decides again [M6].
//
//	operations/{key}                 [Ledger.Ingest] alone changes its state [M7]; Register makes it, Finish and MarkDead note
//	                                 what became of an effect, Postpone and MakeDueNow move its due time, NoteCondition says what look-ups
//	                                 could not learn, Abandon ends the waiting
//	operations/{key}/deliveries/{id} made once, with the decision it reports, and never changed
//	operations/{key}/effects/{name}  made by Ingest or Register in the commit that reaches the state it is for, or by
//	                                 Postpone, NoteCondition or AlertAbout in the one that finds what it alerts of; changed by Claim,
//	                                 and then only by the holder of the claim; Requeue moves its due time on, Recover records
//	                                 after a restore that it had been DONE, AbandonEffect waives it once it is DEAD,
//	                                 [Ledger.Replay] reopens it then, notes each person's message that it takes in, and makes
//	                                 what was never planned and what is to run anew
//	…/effects/{name}/items/{key}     made and changed by RecordItems, in a commit with its effect, by the holder of the claim;
//	                                 AbandonEffect and Replay change when those expire that FAILED
//	intents/{correlation id}         made by Intend, or else by Ingest or Register where they meet the id first; bound by
//	                                 Ingest and Register, in the commit that registers the operation; given up by
//	                                 AbandonIntent; PostponeIntent moves its due time on, KeepName adds a name to look up;
//	                                 opened again by Renew; deleted by Withdraw while it is not bound, and by
//	                                 ForgetIntent while no operation has it
//	quarantine/{delivery id}         made by Quarantine; MarkRetried notes what came of it later
//
// Forget deletes an operation with all of these but what is in quarantine, the record last.
//
// Two fields rule all waiting and all deleting: dueAt is when somebody must look at the document again, expireAt when it may
// be deleted. No document has both. "Now" is always the store's read time.
//
// # An intent's life
//
//	Intend──▶ OPEN ──AbandonIntent──▶ ABANDONED ──Renew──▶ OPEN
//	            └──Ingest, Register──▶ BOUND ◀──┘ ▲
//	Ingest──▶ SEEN ──Register, Intend─────────────┘
//
// What is ABANDONED is still searched for, ever more rarely, until SearchFor has passed. Renew also leads from OPEN to OPEN, with
// a new due time. Withdraw deletes what is OPEN or ABANDONED, once it is sure that
// nothing was submitted.
//
// A submitter records its intent, submits the job with the correlation id in its user metadata, and registers it [G6]. One
// intent is one operation: of several that carry its id the one whose commit is first has it, and the others are what they
// would be without it. A crash of the submitter leaves behind:
//
//	before Intend                    nothing, and nothing was submitted
//	after it, before the submission  an OPEN intent, which is given up when nothing came of it for long enough
//	after Renew                      an OPEN intent with its whole time before it, also where it was ABANDONED
//	after the submission             the same, and an operation whose first event with the id registers it with what the intent
//	                                 says: from the webhook, or made of what [Ledger.Discover] finds in Gemini's list
//	after Register                   a BOUND intent: Intend says so to the submitter that starts again
//
// # A side effect's life
//
//	PENDING ──Claim──▶ CLAIMED ──Finish────────▶ DONE
//	   ▲                │  │ └────MarkDead, Release─▶ DEAD ◀── Claim, of what ended too often with its process
//	   ├────Release─────┘  └─ lease over ─▶ claimable by any worker, with a higher fence
//	   └────Replay, by a person, of what is DEAD
//
// Release gives an effect up that has failed MaxAttempts times, and for RetryFor. A claim never does: an effect that has been
// waiting for long, as through a pause, is tried first.
//
// A crash leaves behind:
//
//	before the commit that plans     nothing; the sender redelivers, or reconciliation asks
//	after it, before the message     a PENDING effect that is due: the sweep publishes it
//	after the claim                  a CLAIMED effect: claimable again, and due, when its lease is over
//	after the effect, before Finish  the same: the effect is repeated, with the same idempotency key and the same bytes
//	after Finish                     a DONE effect, for good
//
// A person's message [G5] goes through Replay before its claim: the commit that reopens a DEAD effect also notes the message's
// id, so that neither a redelivery nor a lost answer reopens it twice. What is DONE stays so; with a nonce the message plans
// one more run beside it, publish@NONCE, with its own document, key and claim. A crash between Replay and the claim leaves an
// open effect, which is due. Of an effect and its runs at most one is CLAIMED.
//
// An effect may run once for each item of a batch's result [K4]. It has one claim for all of them, and RecordItems writes what
// became of a chunk together with how far the effect has come:
//
//	after a chunk was performed, before its commit  the chunk is repeated, with the same keys and the same bytes
//	after its commit                                the worker that claims the effect next goes on behind it
//
// An effect of which items are FAILED ends DEAD. Replay returns them to waiting in the commit that reopens it; their documents
// stay as they are until they are tried. AbandonEffect lets them expire before its own commit, and a crash in between leaves a
// dead effect that can be waived again.
//
// Continue hands on what is left when the holder's time is over: CLAIMED becomes PENDING and no attempt is counted.
//
// An alert [R4] is an effect like any other, of a rule that lists it: its name is the rule's with the kind and the number of
// the alert behind an '@', as in page@stuck-1, and its handler the rule's. The record names it, so it is planned once, however
// many passes find the condition at once; one about something that is no operation has a number that follows from the time.
//
// So the decision to run is made exactly once at a time, and an effect outside the store is repeated only where its outcome
// did not reach the ledger; then its receiver can tell, and refuse it.
package ledger
