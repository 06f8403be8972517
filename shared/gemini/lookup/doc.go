// Package lookup asks Gemini for the state of an operation. [Client.Lookup] returns an [Answer],
// which is either known, with a state, or not known, with a reason that metrics count. An answer
// is not known unless it clearly states the operation's state: not without a state, with a new
// word, after 404, 5xx or HTML, or with an error body under a 200. Only a known terminal state
// ends an operation [R4].
//
// Each kind of operation has a file of its own. Answers are streamed, because the inline results of a
// batch can be over 1 GB: one record cannot exhaust the memory of a pass [R6]. A detail of another
// type than the API promises hides no state. [Client.ListBatches] finds the batches that were never
// registered [G6].
//
// Every failed request gets its reason in one place, failure.go, from the HTTP status. No error, log
// line or printed value holds the API key.
//
// An answer becomes an operation.Event and is ingested like a delivery [M7]. The reducer does not
// depend on which came first.
//
// The numbers in brackets are those of shared/RULES.md.
package lookup
