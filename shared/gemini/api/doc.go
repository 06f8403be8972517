// Package api is the one way to the Gemini API. The packages batches, cancel, lookup, webhooks and
// results ask through it, so that each rule about a request is kept in one place:
//
//   - The API key goes in a header, to the host of the base URL alone: https, or http on the
//     loopback interface. Redirects are not followed, because net/http would carry the header
//     along.
//   - An answer is bounded: its headers, unless Options.HTTP has a transport of its own, what is
//     read of a refusal, and what is held in memory. [Client.Get] returns a body of any size, for
//     [NewJSON] to read one value at a time.
//   - The session of an [Upload] is at the base URL's host, too, and its address is kept like the key.
//   - An answer other than 200 is an [*Error] with its HTTP status and what it asks to wait.
//   - No error and no printed value holds the API key, or a password in the base URL.
//
// Nothing is repeated here. The official SDK is not used: what it imports would start with every
// function. The tests of the packages hold their requests and answers against it.
package api
