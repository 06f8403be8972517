// Package simulation runs the protocol as a small world, in which one seed is one schedule. Three
// processes serve one to three batches, from their submission to the end of their effects, while
// calls fail, processes die and stand still, messages are lost and doubled, and clocks differ.
// Then the faults end, and the world must come to rest with everything done. In some the retention
// passes twice: documents expire among further faults, and what is past comes again.
//
// # What is real and what is simulated
//
// Real: the ledger, the effect runner, what runs an effect once per item, the reconcile pass, the
// submitter, the clients of Gemini's API and of its results.
//
// Simulated, with the semantics that the ledger relies on and no others:
//
//   - the store: atomic commits with preconditions, reads and queries of one instant, tokens that
//     never come back, and a clock of its own. What was read may be old when it arrives; a commit
//     whose answer is lost was made, was not made, or is made later. What has expired is deleted,
//     late and in any order [L3].
//   - Gemini: batches that run and end, a list of them, events that carry the submitter's id. It may
//     not find what it has, answer what was true minutes ago, or ask for patience (429).
//   - the results of batches: each read gives the items in another order.
//   - the topic: messages are delivered at least once, late, in any order; it may lose one.
//   - the receivers of effects: each request is counted. It may arrive after its sender gave up.
//   - the processes: one dies before or after any call, stands still for longer than a lease, or
//     is told to stop. Each request has a ledger of its own: no memory that requests share is
//     relied on.
//   - the clocks: the store's, Gemini's and the submitters' differ by minutes. The processes' own
//     clocks measure durations alone [M4]. The store's may leap, as SQLite's can: by 8 hours or 29
//     days, forward or back, until it is put right, at the latest when the faults end. The store
//     tells when it leapt, and deletes at once what seems to have expired, but for a day after.
//
// # One seed, one schedule
//
// Every call that leaves a process waits at one gate (gate.go). When all goroutines of the bubble
// of testing/synctest wait, a [Chooser] decides which of the waiting calls goes next, and what
// becomes of it (fate.go). Nothing else decides anything: nonces and random pauses follow from the
// step, and calls that arrive between two steps are sorted. So the list of choices is the
// schedule. A mutex that is held during a call stops the bubble, and the test until its -timeout:
// a caller that waits for it could not end with its context.
//
// # What this world can never do
//
// A result that changes: lacks an item at one read, has one twice or without its key, or is cut. More
// than twelve items, so that no result needs two chunks. An item too large to be kept. The tests of the
// effect package do each of these.
//
// A clock that leaps while no process runs: forward, that is a long rest to the store. One that stays
// wrong for longer than an hour. One that stands behind by days in a world in which the retention passes
// afterwards: what is written meanwhile expires that much too early, but for the day after the leap, and
// an operation that is registered again then runs its effects again. An end that Gemini has not
// announced as running is withheld where its operation is new to the ledger while the clock is ahead by
// the retention [L3]: it is logged, and an operator plans it.
//
// # Invariants
//
// In the step of each commit (check.go): what ledgertest.Check demands of documents, among it that
// nothing is due and expires, and that what is open is due [L3, R5]; a state never goes back [M3,
// M5, M9]; versions count each write [M6]; fences rise, and a claim is seized only past its lease
// [S2, S6]; DONE is final, and recorded only for what its claim performed [S2, S4]; keys and
// payloads are frozen [K4]; an operation is looked up when it is due [R6].
//
// Between commits: a handler is called under a claim that has not ended, before its lease is over
// [S6], and for no item that is DONE [S2]; what a submitter or a webhook is answered is stored [L2,
// W3].
//
// As the store deletes (check_expiry.go): nothing that expires is open or DEAD, nor has an effect that
// is, and no item of a DEAD effect is FAILED; what was DONE is never planned again, whatever comes
// again [L3, S7].
//
// As the clock leaps (clock.go): nothing expires for a day, nor a day before its time [L3]; no operation
// is stuck and no intent is given up before the clock has run evenly for as long as that takes, as its
// pass saw it [R4, G6]; at rest nothing is due later than it can be, nor waits for it [R6].
//
// At rest (check_end.go): every batch whose submitter registered it, or recorded its intent, is
// registered, has the end that Gemini reports and its effect [L2, G6, R2]; no batch was submitted
// twice [G6]; each effect is DONE and was performed, for every item where it runs for each, or is
// DEAD and in the list [S2, S4]; it was performed at most once for each claim, with the same bytes,
// as was each item [S3, K4]; what is stuck has its alert [R4]; Gemini was asked no more often than
// the record counts [R3]. Calls that nothing disturbed cost no more than test/load/README.md
// publishes.
//
// TestStorm fails where its schedules never meet one of the fates, or one of the outcomes that an
// invariant is about (met.go).
//
// # Jobs
//
// In other schedules (jobs.go) the processes serve one or two jobs of 3 to 12 requests, by the real
// handlers of their steps and the real clients of batches. All above holds there, too. Simulated in
// addition:
//
//   - job storage (bucket.go), as a bucket is: what was said to have failed may be there, or come
//     later.
//   - Gemini's files and batches (jobs_gemini.go): a creation whose answer is lost, or that comes
//     late; refusals, for now, of the key, or of a batch with a request that is not valid; a batch
//     that ends in any state, may have a part of its result, or never ends; a result whose lines are
//     missing, doubled, null, foreign or errors, and which may lack a line at one read alone; a
//     cancellation that comes too late.
//   - Gemini's quotas: how many batches it takes, and for a job of 250 requests in one batch how many tokens,
//     which no setting names. Gemini counts the tokens that its answers had; the model has a price.
//   - a second submitter of the same id, with the same input or another; operators who cancel a job, pause and
//     resume it, change what it may cost, release a part, replay what is DEAD. Operators redrive a job that has
//     ended, two at a time: as the same job or as two, of the same requests or of others; and redrive a redrive.
//   - deadlines, pilots, limits of the cost, and a quota of tokens that the settings name; files that requests name,
//     which Gemini loses before the job or while it runs.
//
// Its invariants are checked in the step of each commit (check_job.go): a plan stays that of its
// input [J1]; each request is in one part that is neither consumed nor released, or waits for one, or
// is final [J2, J7]; nothing final is given out again, and what is named is in job storage [J4];
// rounds, pieces and creations are counted and bounded [J5]; nothing but Gemini's terminal state, or
// an operator, ends a batch [J6]; the commit that ends a job plans its effects [J8]; what runs has its place, with
// tokens within the quota [J10]; a job is held, and goes on, for a reason [J11, J13]. Of money
// (check_job_cost.go): as a part is started, what all parts have cost, with what is estimated for those that run, is
// within the limit; a job is held for it only where the next part is beyond it and none runs; the tokens of a part
// are those that Gemini has reported [J7]. What a batch may hold is halved hourly at most, not below a hundred
// requests, and only after a list without a batch of the model (check_job_quota.go) [J10]. Of redrives
// (check_job_redrive.go): both jobs name each other in one commit, the old one stays as it ended, and a request
// that has failed is in one redrive [J14]. As Gemini
// creates a batch (check_job_batch.go): its intent is there [J3], its creation is counted [J5], no other batch of
// its requests runs [J2], or has answered them for good [J4], and its job was not held two minutes before, nor past
// its deadline [J11, J12]; and none of its requests names a file of which the job's plan said, as the part was started,
// that it is lost [J15]. At rest (check_job_end.go): the results have each key once [J7], with what Gemini has
// answered to it [J9]; merged with those of its redrives, too, each from the last of these jobs [J14]; no job is listed
// as held that has ended [J11]; what is refused without being sent names a file that is lost [J15].
//
// What these schedules can never do: job storage that is out of date, or damaged. An input that is
// not canonical. Results of more than one chunk, but where a process is told to stop; an upload in
// more than one piece. A creation that arrives more than a minute after its caller is gone: the
// protocol relies on that [G6]. A ledger that is restored from a backup. A retention that passes: a redrive finds the
// record of the job that it redrives. An answer that is checked against a schema. Two models, of which one waits and
// the other does not; a price that changes, or none. A quota that is raised, that lags, or of which another project
// has a part; a large request, so that the tokens of a part are far from its share. A change of another limit than the
// cost. A file that requests name and Gemini has again, or seems not to have; one that expires at another time than
// Gemini has said. Calls that cost more than is published: those of steps are not bounded here.
//
// # To repeat a seed
//
//	go test ./test/simulation -run TestStorm -v -seed 42
//	go test ./test/simulation -run TestJobs -v -seed 42
//
// The test prints this command where an invariant breaks, and Go prints it with the goroutines of a
// schedule that panics, deadlocks or hangs until the test's -timeout.
package simulation
