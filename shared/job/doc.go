// Package job decides what a job does next. A job is a file of requests that becomes a file of results: one
// operation of the ledger's own, made of batches at Gemini. (Gemini calls one batch a "batch job"; a job
// here is one or many.)
//
// The package is pure: no clock, and no I/O but on the readers and writers that it is given. [Canonicalize]
// reads inputs, and [Judge] says what became of a request by Gemini's answer. The ledger stores a [Job] and
// its [Part]s, and calls [Next] with what it read [J2, J5]:
//
//	jobs/ID                 the job: its input and options, what is counted, what waits for a batch
//	jobs/ID/parts/00012     a part: the requests of one batch, what became of it, and the objects it led to
//
// # From requests to results
//
// The input is one object of job storage. No step copies it: a part of the first round is a range of its
// bytes. The steps are effects, with the claims, leases, back-off and dead letters of all effects:
//
//	job-split       finds the ranges, and creates the parts
//	job-references  looks up the files and caches at Gemini that the requests name, before each round
//	job-start       uploads a part's requests, and creates its batch through an intent
//	job-collect     reads the batch's result: what is done or refused for good goes to one object, the
//	                requests to be tried again to another, which is a source of a part of the next round
//	job-cancel      asks Gemini to cancel a part's batch
//	job-finish      makes what is still open final, and merges the parts' objects
//	job-tidy        deletes the parts' objects, once they are merged
//
// Next consumes what was collected, and in the same commit gives the open requests to their next part. So
// a request is in one part that is neither consumed nor released [J2], and what is done is never given out
// again [J4].
//
// # States of a part
//
//	PLANNED ──▶ STARTING ──▶ STARTED ──▶ COLLECTED ──▶ CONSUMED
//	   │           ├──▶ REFUSED ──▶ CONSUMED, its pieces are new parts of the same round
//	   └───────────┴──▶ DROPPED: no further batch is made of it; its requests become final with the job
//
// A STARTED part that an operator releases is RELEASED: its requests go into a new part [J6].
package job
