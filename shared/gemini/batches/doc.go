// Package batches makes a batch of a file of requests: it uploads the file, creates the batch, reads what
// that was made of, and deletes the file.
//
//   - An upload may be repeated: it leaves a second file, which Gemini deletes after 48 hours. A piece whose
//     answer is lost is not sent again before Gemini has said how much of it arrived.
//   - A creation must not be repeated: each is a batch of its own, and is paid. [Client.Create] sends one
//     request. An error that wraps ErrRefused says that no batch runs. After any other error one may run,
//     and only its correlation id, in Gemini's list or in an event, shows whether it does [G6, K6].
//   - [CauseOf] says of a refused creation what must change before another one.
//
// Nothing here is in the official SDK's words or needs it; the tests hold each request against the SDK's.
package batches
