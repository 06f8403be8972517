// Package geminisim simulates the part of Gemini's REST API that runs jobs in the background and
// tells about their end: batches and their result files, videos, background interactions, and
// webhooks. The real google.golang.org/genai SDK talks to it over HTTP, and it delivers signed
// webhooks as Gemini does: at least once, in no promised order, with retries for 24 hours.
//
// It is the other side of the wire, written from what Google documents and from what SDK v1.77.0
// was measured to send and accept, and imports nothing of the code that it is used to test.
//
// # Life of a job
//
//	batch        PENDING ─▶ RUNNING ─▶ SUCCEEDED | FAILED | EXPIRED | CANCELLED
//	video        not done ─▶ done with a sample | an error | filtered | nothing
//	interaction  in_progress ─▶ completed | failed | incomplete | cancelled
//
// A plan is drawn for each job when it is created: how long it takes, how it ends, and what happens
// to the delivery of its completion. The plan follows from Config.Seed and from how many of its
// kind were created before it, and from nothing else, so that concurrency cannot change it. What
// depends on an attempt or on a request is drawn from the seed, the job and the number of that
// attempt or request. States that no plan ends in, such as requires_action, are reached with Script
// and SetState.
//
// # Webhooks
//
// A registered webhook gets the events that it subscribed to, signed with its secrets (Standard
// Webhooks, HMAC). A job created with uris of its own is delivered to these instead, signed with a
// bare RS256 JWT whose key is served at JWKSPath; what such a token claims is documented nowhere,
// so Config says.
//
// # Faults
//
// Faults holds the shares of what goes wrong; None, Normal and Harsh are presets. A delivery may be
// lost for good, late, repeated, or overtaken by a completion; deploy windows of the receiver
// refuse attempts or lose their answers; the API answers errors, stale states, hollow successes,
// and 404 for what it has just created.
//
// # Tests
//
// Script pins one job before it is created, SetState moves one at will, AnswerNext puts words into
// the API's mouth (and into that of JWKSPath), Deliver sends any delivery whatever, Token makes any
// token, RotateJWKS and RevokeJWKS change the keys, and WaitFor waits for the counters instead of
// for time. None of them needs a fault plan.
//
// # Two clocks
//
// Durations (run time, back-off, windows, lateness) pass in real time divided by Config.Speed.
// Config.Now is read for what is written on the wire: resource times, webhook-timestamp, a token's
// iat and exp, and the expiry of rotated secrets. Where Speed is not 1 and the times on the wire
// should show it, pass a Now that runs Speed times as fast.
//
// # What is not simulated
//
// File upload, streaming, interactions in the foreground and what they are about (tools, agents'
// environments), quotas, and the retention of files and jobs. A webhook is never disabled for
// failing deliveries by itself, because the threshold is not documented; see SetWebhookState.
package geminisim
