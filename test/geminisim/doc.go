// Package geminisim simulates the part of Gemini's REST API that runs jobs in
// the background and tells about their end: batches, their result files, and
// webhooks. The real google.golang.org/genai SDK talks to it over HTTP, and it
// delivers signed webhooks as Gemini does: at least once, in no promised
// order, with retries for 24 hours.
//
// It is the other side of the wire, written from what Google documents and
// from what SDK v1.77.0 was measured to send and accept, and imports nothing
// of the code that it is used to test.
//
// # Life of a batch
//
//	create ─▶ PENDING ─▶ RUNNING ─▶ SUCCEEDED | FAILED | EXPIRED | CANCELLED
//
// A plan is drawn for each batch when it is created: how long it takes, how it
// ends, and what happens to the delivery of its completion. The plan follows
// from Config.Seed and from how many batches were created before it, and from
// nothing else, so that concurrency cannot change it. What depends on an
// attempt or on a request is drawn from the seed, the batch and the number of
// that attempt or request.
//
// # Faults
//
// Faults holds the shares of what goes wrong; None, Normal and Harsh are
// presets. A delivery may be lost for good, late, repeated, or overtaken by a
// completion; deploy windows of the receiver refuse attempts or lose their
// answers; the API answers errors, stale states and hollow successes.
//
// # Tests
//
// Script pins one batch before it is created, SetState moves one at will,
// AnswerNext puts words into the API's mouth, Deliver sends any delivery
// whatever, and WaitFor waits for the counters instead of for time. None of
// them needs a fault plan.
//
// # Two clocks
//
// Durations (run time, back-off, windows, lateness) pass in real time divided
// by Config.Speed. Config.Now is read for what is written on the wire: resource
// times, webhook-timestamp, and the expiry of rotated secrets. Where Speed is
// not 1 and the times on the wire should show it, pass a Now that runs Speed
// times as fast.
//
// # What is not simulated
//
// File upload, videos, interactions, quotas, the retention of files and jobs,
// and dynamic webhooks: a batch created with its own webhook uris is kept away
// from the registered webhooks, as documented, and then nothing is sent to
// those uris. A webhook is never disabled for failing deliveries by itself,
// because the threshold is not documented; see SetWebhookState.
package geminisim
