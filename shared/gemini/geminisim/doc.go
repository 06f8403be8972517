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
// # What is not simulated
//
// A result that lacks an item, or has one twice or without its key; a download that ends between
// two lines as if it was the end. Streaming, foreground interactions and their content (tools,
// agents' environments), quotas, and the retention of uploaded files and of operations, with the
// results that they have inline. A batch may have any input file; one that was not uploaded here is
// as long as its plan says. Failing deliveries never disable a webhook, because the threshold is
// undocumented; see SetWebhookState.
package geminisim
