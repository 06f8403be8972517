// Package lookup asks Gemini how an operation stands, through the official SDK, and reads by itself what the SDK cannot. [Client.Lookup] returns an [Answer], which is
// either known, with a state, or not known, with a countable reason. Everything that is not a clear word of Gemini about this
// operation (no state, a new word, 404, 5xx, HTML, an error body under a 200) is not known; only a known terminal state ends
// an operation.
//
// An answer becomes an operation.Event and goes through the same door as a delivery [M7]; the reducer there does not care
// which came first. The API key is never part of an error, a log line or a printed value.
//
// The numbers in brackets are those of shared/RULES.md.
package lookup
