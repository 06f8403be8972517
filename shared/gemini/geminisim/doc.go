// Package geminisim simulates the part of Gemini's REST API that runs operations in the background
// and reports their end: batches and their result files, videos, background interactions, and
// webhooks. The real google.golang.org/genai SDK can use it over HTTP. It delivers signed webhooks
// as Gemini does: at least once, in any order, with retries for 24 hours.
//
// It follows Google's documentation, and what SDK v1.77.0 was measured to send and accept. It
// imports nothing of the code that it tests.
//
// # Life of an operation
//
//	batch        PENDING ─▶ RUNNING ─▶ SUCCEEDED | FAILED | EXPIRED | CANCELLED
//	video        not done ─▶ done with a sample | an error | filtered | nothing
//	interaction  in_progress ─▶ completed | failed | incomplete | cancelled
//
// Each operation gets a plan when it is created: its duration, its end, and the faults of its
// delivery. The plan depends only on Config.Seed and on how many operations of the kind were
// created before, so that concurrency cannot change it. A fault of an attempt or a request depends
// on the seed, the operation and the number of the attempt or request. No plan ends in a state such
// as requires_action; Script and SetState reach it.
//
// # Webhooks
//
// A registered webhook gets the events that it subscribed to, signed with its secrets (Standard
// Webhooks, HMAC). An operation with its own uris is delivered to these instead, signed with a bare
// RS256 JWT whose key is served at JWKSPath. The claims of such a token are undocumented, so Config
// sets them.
//
// # Faults
//
// Faults holds the share of each fault; None, Normal and Harsh are presets. A delivery may be lost,
// late, repeated, or overtaken by a completion. Deploy windows of the receiver refuse attempts or
// lose their answers. The API answers with errors, stale states, empty successes, and 404 for what
// it has just created.
//
// Batches of uploaded files meet more, because the keys of their requests are known: a creation that
// is refused, carried out twice or late; a batch that is refused as a whole; and each outcome of a
// request, drawn from the batch and the key. What becomes of a key depends on no order. A result's
// text has its key, so that an audit sees what was matched by position. Config.CountKeys counts how
// often each key was sent.
//
// # Files
//
// An upload is resumable: a piece whose answer was lost is there, and a query says so. A file is gone
// after 48 hours on the wire clock, or once it is deleted; a batch keeps its requests. A cache is gone after its own
// time, and has no content. With
// Config.Folder the content is on disk, and a batch holds 8 bytes of memory for each request: a result
// file is made while it is read. Config.Quotas limits batches, tokens and bytes.
//
// # Tests
//
// None of these needs a fault plan. Script sets the plan of one operation before it is created.
// SetState changes an operation's state. AnswerNext sets the next answers of the API and of
// JWKSPath. Deliver sends any delivery, and Token makes any token. RotateJWKS and RevokeJWKS change
// the keys. WaitFor waits for the counters instead of for time.
//
// # Two clocks
//
// Durations (run time, back-off, windows, lateness) pass in real time divided by Config.Speed.
// Times on the wire come from Config.Now: resource times, webhook-timestamp, a token's iat and exp,
// and the expiry of rotated secrets. If the times on the wire should match Speed, pass a Now that
// runs Speed times as fast.
//
// # What it can never do
//
// A result that proves itself here has not met these:
//
//   - A result under another key's: the text of a line is always that of its key.
//   - A download whose content changes: each line is the same at every read, in whatever order. It ends
//     early only in the middle of a line, and its later half is never missing with a length.
//   - A batch that leaves a terminal state, or a second outcome, but by SetState; one that is stuck for
//     days, but by Script; a get that fails for days while the list shows the state, but by AnswerNext.
//   - A batch that Gemini no longer has: batches stay until they are deleted.
//   - An upload's session that ends by itself, and a piece of which a part arrives twice. A file is
//     ACTIVE at once.
//   - A get of the file of a batch's results: 403, while Gemini answers it.
//   - A request that fails because the file or the cache that it names is gone: its line is like any other.
//   - A quota that lags, or that another project's use fills; a cancellation that is refused.
//   - Streaming, embeddings that are no batch, foreground interactions and their content (tools, agents' environments),
//     the retention of operations, with the results that they have inline, and the priority of batches.
//   - An input file's content, where it was not uploaded here: a batch of it is as long as its plan says,
//     and no line has another fault than FailedItems.
//   - Failing deliveries that disable a webhook, because the threshold is undocumented; see
//     SetWebhookState.
package geminisim
