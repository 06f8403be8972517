// Package lookup asks Gemini how an operation stands. [Client.Lookup] returns an [Answer], which is
// either known, with a state, or not known, with a countable reason. Everything that is not a clear
// word of Gemini about this operation (no state, a new word, 404, 5xx, HTML, an error body under a
// 200) is not known; only a known terminal state ends an operation [R4].
//
// There are three kinds of operations, each with a file of its own:
//
//   - Batches are read without the SDK, as they come: it drops their error and their counts, and it
//     decodes their inline results, which can be larger than memory, or odd, and would hide the
//     state. [Client.ListBatches] reads pages of them in the same way, to find those that were
//     never registered [G6].
//   - Videos (operations) and interactions are asked for through the official SDK.
//
// What is not a 200 becomes a reason in one place, from the HTTP status itself, before the SDK
// makes one of its five types of errors of it. The API key is never part of an error, a log line or
// a printed value.
//
// An answer becomes an operation.Event and goes through the same door as a delivery [M7]; the
// reducer there does not care which came first.
//
// The numbers in brackets are those of shared/RULES.md.
package lookup
