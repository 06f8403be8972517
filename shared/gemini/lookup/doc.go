// Package lookup asks Gemini for the state of an operation. [Client.Lookup] returns an [Answer],
// which is either known, with a state, or not known, with a reason that metrics count. An answer
// is not known unless it clearly states the operation's state: not without a state, with a new
// word, after 404, 5xx or HTML, or with an error body under a 200. Only a known terminal state
// ends an operation [R4].
//
// Each kind of operation has a file of its own. Batches are streamed, one by one and in the pages of
// [Client.ListBatches], which finds those that were never registered [G6]: their inline results can
// be over 1 GB. A video or an interaction is held in memory and so is bounded: one record cannot
// exhaust the memory of a pass [R6].
//
// Every failed request gets its reason in one place, failure.go, from the HTTP status. No error, log
// line or printed value holds the API key.
//
// An answer becomes an operation.Event and is ingested like a delivery [M7]. The reducer does not
// depend on which came first.
//
// The numbers in brackets are those of shared/RULES.md.
package lookup
